"""Tars by anybody: the members that Python's tarfile finds, in all its formats; damage at its byte."""

import io
import subprocess
import tarfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import SourceError
from penstock.ingest.tar_walk import DIRECTORY, REGULAR, SPARSE, walk
from tests.unwrapping import damaged, is_read_or_refused

FORMATS = [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT]


def walked(data):
    return list(walk(lambda offset, length: data[offset : offset + length], len(data)))


def archive(files, form, **options):
    """A tar of files, by name."""
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode="w", format=form, **options) as made:
        for name, data in files:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            made.addfile(info, io.BytesIO(data))
    return sink.getvalue()


def listed(data):
    """The regular members as tarfile finds them."""
    with tarfile.open(fileobj=io.BytesIO(data)) as made:
        return [(one.name, made.extractfile(one).read()) for one in made if one.isreg()]


NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\0/"), min_size=1, max_size=120).filter(
    lambda name: name.strip(". ") == name
)


@given(st.lists(st.tuples(NAMES, st.binary(max_size=1200)), max_size=8), st.sampled_from(FORMATS[1:]))
@settings(max_examples=150)
def test_members_are_those_that_tarfile_finds(files, form):
    data = archive(files, form)
    found = [(one.name, data[one.offset : one.offset + one.length]) for one in walked(data)]
    assert found == listed(data) == files


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("name", ["a.jpg", "d" * 90 + "/" + "n" * 99, "é/ü.jpg"])
def test_names_of_every_length_are_whole(form, name):
    data = archive([(name, b"x" * 600), ("b", b"")], form)
    assert [one.name for one in walked(data)] == [name, "b"]


def test_gnu_tar_s_own_archives_are_walked(tmp_path):
    (tmp_path / ("n" * 120)).write_bytes(b"long")
    (tmp_path / "link").symlink_to("n" * 120)
    (tmp_path / "folder").mkdir()
    for form in ("gnu", "pax"):
        subprocess.run(
            ["tar", f"--format={form}", "-cf", f"{form}.tar", "folder", "link", "n" * 120], cwd=tmp_path, check=True
        )
        found = {one.name: one.kind for one in walked((tmp_path / f"{form}.tar").read_bytes())}
        assert found == {"folder/": DIRECTORY, "link": "2", "n" * 120: REGULAR}


@pytest.mark.parametrize("form", ["gnu", "pax"])
def test_a_sparse_file_is_told_and_what_follows_it_is_found(tmp_path, form):
    with (tmp_path / "holes").open("wb") as file:
        for at in range(60):
            file.seek(at << 20)
            file.write(b"data")
    (tmp_path / "next").write_bytes(b"x")
    subprocess.run(["tar", f"--format={form}", "-S", "-cf", "x.tar", "holes", "next"], cwd=tmp_path, check=True)
    first, second = walked((tmp_path / "x.tar").read_bytes())
    assert (first.kind, second.name, second.kind) == (SPARSE, "next", REGULAR)


def test_a_size_beyond_eight_gigabytes_is_understood():
    header = bytearray(archive([("a", b"")], tarfile.USTAR_FORMAT)[:512])
    header[124:136] = b"\x80" + (9 << 30).to_bytes(11, "big")
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    (entry,) = walk(lambda offset, length: bytes(header) if offset == 0 else bytes(length), (9 << 30) + 1024)
    assert (entry.offset, entry.length) == (512, 9 << 30)


@pytest.mark.parametrize(
    ("kept", "what"),
    [
        (512 + 100, r"cut short in a member.*bytes 512-1512"),
        (1536, r"ends without its closing block.*bytes 1536-1536"),
        (1536 + 100, r"cut short in a header.*bytes 1536-1636"),
    ],
)
def test_an_archive_that_was_cut_short_says_where(kept, what):
    data = archive([("a", b"x" * 1000), ("b", b"y")], tarfile.USTAR_FORMAT)[:kept]
    with pytest.raises(SourceError, match=what):
        walked(data)


def test_what_is_no_header_is_said_with_its_place():
    data = bytearray(archive([("a", b"x" * 1000), ("b", b"y")], tarfile.USTAR_FORMAT))
    data[1536] ^= 1
    with pytest.raises(SourceError, match=r"no header of a tar.*bytes 1536-2048"):
        walked(bytes(data))


@given(st.sampled_from(FORMATS), st.data())
@settings(max_examples=200)
def test_damage_gives_members_or_our_error(form, data):
    whole = archive([("a/" + "n" * 95, b"x" * 700), ("ü" * (60 if form else 9), b""), ("c", b"y" * 20)], form)
    assert is_read_or_refused(walked, damaged(whole[:6000], data.draw))
