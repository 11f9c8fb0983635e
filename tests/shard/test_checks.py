"""Checks of one shard: rows against the bytes they point at."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.shard.checks import Damage, Row, check_labels, check_rows, crc32c, sha256, walk
from penstock.shard.sample import sample_bytes
from penstock.shard.tar import END
from penstock.types import Record, StoredField

SAMPLE = sample_bytes(
    Record("a/1", {"image": StoredField(b"x" * 700, "jpeg", 3, 2)}, {"label": 4, "note": "ü"}), {"image": ".jpg"}
)
ARCHIVE = SAMPLE.data + END


def row(**changes):
    place = SAMPLE.fields["image"]
    values = {"key": "a/1", "field": "image", "offset": place.offset, "length": 700, "crc32c": place.crc32c}
    return Row(**{**values, "member": "a/1.jpg", **changes})


def faults(one, archive=ARCHIVE):
    found, _ = walk("s", memoryview(archive))
    return [damage.what for damage in check_rows("s", memoryview(archive), found, [one])]


def test_checksums_are_the_standard_ones():
    assert crc32c(b"123456789") == 0xE3069283  # the check value of CRC-32C (Castagnoli)
    assert sha256(b"abc").startswith("ba7816bf")


def test_a_row_that_is_right_has_no_faults():
    assert faults(row()) == []
    assert walk("s", memoryview(ARCHIVE))[1] == []


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"offset": 512 + 1}, "checksum differs"),
        ({"length": 699}, "checksum differs"),
        ({"length": 10**9}, "the bytes lie outside the shard"),
        ({"offset": -1}, "the bytes lie outside the shard"),
        ({"crc32c": 5}, "checksum differs"),
        ({"member": "b.jpg"}, "the tar member differs"),
        ({"offset": 513, "length": 10, "crc32c": crc32c(b"x" * 10)}, "no tar member has its data here"),
    ],
)
def test_a_row_that_is_wrong_is_told(change, what):
    assert faults(row(**change)) == [what]


@given(st.integers(0, 700 * 8 - 1))
def test_any_flipped_bit_of_a_field_is_noticed(bit):
    data = bytearray(ARCHIVE)
    data[SAMPLE.fields["image"].offset + bit // 8] ^= 1 << bit % 8
    assert faults(row(), bytes(data)) == ["checksum differs"]


def test_labels_are_compared_with_their_members():
    found, _ = walk("s", memoryview(ARCHIVE))

    def told(labels):
        return [damage.what for damage in check_labels("s", memoryview(ARCHIVE), found, [("a/1", labels)])]

    assert told({"label": 4, "note": "ü"}) == []
    assert told({"label": 5, "note": "ü"}) == ["the member a/1.cls differs"]
    assert told({"label": 4, "note": "u"}) == ["the member a/1.json differs"]
    found.pop(min(place for place, member in found.items() if member.name == "a/1.cls"))
    assert told({"label": 4, "note": "ü"}) == ["the member a/1.cls is missing"]


def test_damage_reads_as_a_sentence():
    damage = Damage("s.tar", "checksum differs", "a/1", "image", (5, 9), "01", "02")
    assert str(damage) == "s.tar: a/1 (image): checksum differs: got 01, expected 02 (bytes 5-9)"
    assert str(Damage("s.tar", "is gone")) == "s.tar: is gone"
    assert Damage("s.tar", "is gone").as_dict() == {"file": "s.tar", "what": "is gone"}
