"""Tar members: read by Python's tarfile and by GNU tar, and read back by ourselves."""

import io
import subprocess
import tarfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import FormatError, UsageError
from penstock.shard.tar import END, Member, member_header, members, padding

name_part = st.text(st.characters(codec="utf-8", exclude_characters="/\0"), min_size=1, max_size=70).filter(
    lambda text: text not in {".", ".."}
)
member_names = st.lists(name_part, min_size=1, max_size=4).map("/".join)
archives = st.lists(st.tuples(member_names, st.binary(max_size=1200)), max_size=6, unique_by=lambda member: member[0])


def archive_of(content):
    return b"".join(member_header(name, len(data)) + data + padding(len(data)) for name, data in content) + END


@given(archives)
def test_tarfile_reads_what_is_written(content):
    with tarfile.open(fileobj=io.BytesIO(archive_of(content)), encoding="utf-8", errors="surrogateescape") as archive:
        found = [(member.name, archive.extractfile(member).read()) for member in archive]
    assert found == [(name.rstrip("/"), data) for name, data in content]


@given(archives)
def test_members_are_found_again_with_their_places(content):
    archive = archive_of(content)
    found = list(members(memoryview(archive)))
    assert [(member.name, archive[member.offset : member.offset + member.length]) for member in found] == content


@pytest.mark.parametrize("format_", [tarfile.USTAR_FORMAT, tarfile.PAX_FORMAT])
def test_archives_of_tarfile_are_read(format_):
    sink = io.BytesIO()
    names = ["a.jpg", "x" * 60 + "/" + "y" * 70 + ".jpg"]
    with tarfile.open(fileobj=sink, mode="w", format=format_) as archive:
        for name in names:
            header = tarfile.TarInfo(name)
            header.size = 3
            archive.addfile(header, io.BytesIO(b"abc"))
    # tarfile pads to whole records, we expect exactly two closing blocks.
    data = sink.getvalue().rstrip(b"\0")
    data += bytes(-len(data) % 512) + END
    assert [member.name for member in members(memoryview(data))] == names


def test_gnu_tar_lists_every_kind_of_name(tmp_path):
    names = ["a.jpg", "d" * 99 + "/" + "e" * 99, "long" * 60, "übung/ß.jpg", "p" * 155 + "/" + "n" * 100]
    path = tmp_path / "a.tar"
    path.write_bytes(archive_of([(name, b"x") for name in names]))
    listed = subprocess.run(
        ["tar", "--list", "--quoting-style=literal", "--file", path], check=True, capture_output=True, text=True
    )
    assert listed.stdout.splitlines() == names
    assert listed.stderr == ""


def test_headers_hold_nothing_but_name_and_size():
    with tarfile.open(fileobj=io.BytesIO(archive_of([("a.jpg", b"abc")]))) as archive:
        (member,) = archive
    assert (member.mtime, member.uid, member.gid, member.uname, member.gname, member.mode) == (0, 0, 0, "", "", 0o644)


def test_a_member_that_tar_cannot_hold_is_refused():
    with pytest.raises(UsageError, match="too large"):
        member_header("a.jpg", 8**11)


def test_every_truncation_is_noticed():
    archive = archive_of([("a.jpg", b"x" * 700), ("ü.jpg", b"y")])
    for length in range(len(archive)):
        with pytest.raises(FormatError):
            list(members(memoryview(archive)[:length]))


@given(st.binary(max_size=1600))
def test_anything_at_all_is_read_or_refused(data):
    try:
        found = list(members(memoryview(data)))
    except FormatError:
        return
    assert all(isinstance(member, Member) for member in found)


def test_every_flipped_bit_of_a_header_is_noticed_or_harmless():
    archive = archive_of([("a.jpg", b"abc")])
    whole = list(members(memoryview(archive)))
    for bit in range(512 * 8):
        damaged = bytearray(archive)
        damaged[bit // 8] ^= 1 << bit % 8
        try:
            found = list(members(memoryview(bytes(damaged))))
        except FormatError:
            continue
        assert found == whole, f"bit {bit} changed what was read"  # such as a space for a NUL after the checksum
