"""What pyarrow.serialize wrote, of Arrow 0.11 to 10: golden files by the real ones, read and damaged."""

import base64
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import SourceError
from penstock.ingest.arrow_serialized import is_arrow_serialized, read_arrow_serialized
from penstock.ingest.record import record_of
from tests.unwrapping import damaged, is_read_or_refused, ordinary

SOURCES = Path(__file__).parent.parent / "golden" / "sources"
GOLDEN = {
    path.stem: {name: base64.b64decode(text) for name, text in json.loads(path.read_text()).items()}
    for path in sorted(SOURCES.glob("pyarrow-*.json"))
}
VERSIONS = sorted(GOLDEN)
JPEG = (SOURCES / "small.jpg").read_bytes()
ARRAY = ("array", "float32", [2, 3], [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]])


def test_there_are_files_of_every_layout():
    assert {"pyarrow-0.11.1", "pyarrow-0.13.0", "pyarrow-0.15.1", "pyarrow-10.0.1"} <= set(VERSIONS)


@pytest.mark.parametrize("version", VERSIONS)
def test_values_are_those_that_were_written(version):
    values = GOLDEN[version]
    assert ordinary(read_arrow_serialized(values["record"])) == [JPEG, 7]
    assert ordinary(read_arrow_serialized(values["keys"])) == [b"0", b"1", b"10"]
    assert read_arrow_serialized(values["length"]) == 3
    assert ordinary(read_arrow_serialized(values["array"])) == ARRAY
    expected = {"image": JPEG, "label": -2, "score": 0.5, "caption": "café"}
    assert ordinary(read_arrow_serialized(values["dict"])) == expected


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", ["record", "array record", "dict"])
def test_an_image_is_found_where_it_lies(version, name):
    data = GOLDEN[version][name]
    assert is_arrow_serialized(data)
    assert record_of(data, "arrow").place == (data.index(JPEG), len(JPEG))
    assert record_of(data, "arrow").image() == JPEG


@pytest.mark.parametrize("version", ["pyarrow-2.0.0", "pyarrow-10.0.1"])
def test_every_plain_value_is_read(version):
    found = ordinary(read_arrow_serialized(GOLDEN[version]["scalars"]))
    assert found == [None, True, False, 2**40, -1.25, "text", b"", [1, [2, 3]], [], {}]


@pytest.mark.parametrize("version", ["pyarrow-0.11.1", "pyarrow-0.17.1"])
def test_a_none_of_the_oldest_files_is_an_error_of_ours(version):
    with pytest.raises(SourceError, match="validity bitmap"):
        read_arrow_serialized(GOLDEN[version]["scalars"])


@pytest.mark.parametrize("version", VERSIONS)
def test_python_objects_are_refused(version):
    with pytest.raises(SourceError, match="a Python object, which is refused"):
        read_arrow_serialized(GOLDEN[version]["object"])


@given(st.sampled_from(VERSIONS), st.sampled_from(["record", "array record", "keys", "dict", "scalars"]), st.data())
@settings(max_examples=500)
def test_damage_gives_a_value_or_our_error(version, name, data):
    made = damaged(GOLDEN[version][name], data.draw)
    assert is_read_or_refused(read_arrow_serialized, made)


@given(st.binary(max_size=200))
def test_any_bytes_give_our_error(data):
    with pytest.raises(SourceError):
        read_arrow_serialized(data)
