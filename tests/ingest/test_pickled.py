"""Pickles read without being run: the same values as Python's own, whatever the protocol; nothing is ever called."""

import os
import pickle
import pickletools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import SourceError
from penstock.ingest.pickled import read_pickle
from tests.unwrapping import VALUES, blobs, damaged, is_read_or_refused, ordinary

PROTOCOLS = range(pickle.HIGHEST_PROTOCOL + 1)


@given(VALUES, st.sampled_from(PROTOCOLS))
def test_values_are_those_of_python_s_own_reader(value, protocol):
    assert ordinary(read_pickle(pickle.dumps(value, protocol))) == ordinary(value)


@given(VALUES, st.integers(3, pickle.HIGHEST_PROTOCOL))
def test_bytes_are_found_where_they_lie(value, protocol):
    data = pickle.dumps(value, protocol)
    for blob in blobs(read_pickle(data)):
        if blob.offset is not None:
            assert data[blob.offset : blob.offset + len(blob)] == bytes(blob)


@pytest.mark.parametrize("protocol", [3, 4, 5])
@pytest.mark.parametrize("wrap", [bytes, bytearray, lambda data: np.frombuffer(data, np.uint8)])
def test_an_image_in_a_record_has_a_place(protocol, wrap):
    image = bytes(range(256)) * 300
    data = pickle.dumps((wrap(image), 7), protocol)
    found = blobs(read_pickle(data))
    if wrap is bytearray and protocol < 5:  # goes through a call there, with bytes as its argument
        assert [bytes(one) for one in found] == [image]
    else:
        assert [(one.offset, bytes(one)) for one in found] == [(data.index(image), image)]


def test_before_protocol_3_bytes_are_made_and_have_no_place():
    image = bytes(range(256))
    for protocol in (0, 1, 2):
        ((made, label),) = [read_pickle(pickle.dumps((image, 7), protocol))]
        assert (bytes(made), made.offset, label) == (image, None, 7)


@pytest.mark.parametrize(
    "data",
    [
        b"(lp0\nS\"\\xff\\xd8\\x00'\\n\"\np1\naI7\naVcaf\xe9\np2\na(dp3\nS'a'\np4\nI01\nsa.",
        b"]q\x00(U\x05\xff\xd8\x00'\nq\x01K\x07X\x05\x00\x00\x00caf\xc3\xa9q\x02}q\x03U\x01aq\x04I01\nse.",
        b"\x80\x02]q\x00(U\x05\xff\xd8\x00'\nq\x01K\x07X\x05\x00\x00\x00caf\xc3\xa9q\x02}q\x03U\x01aq\x04\x88se.",
    ],
)
def test_text_that_python_2_wrote_is_bytes(data):
    assert ordinary(read_pickle(data)) == [b"\xff\xd8\x00'\n", 7, "café", {"a": True}]


class Attack:
    """Runs a command when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_code_is_refused_by_name_and_never_run(tmp_path, protocol):
    data = pickle.dumps([b"x", Attack(tmp_path / "made")], protocol)
    with pytest.raises(SourceError, match=r"asks for code, which is refused: got (posix|os|nt)\.mkdir"):
        read_pickle(data)
    assert not (tmp_path / "made").exists()
    pickle.loads(data)
    assert (tmp_path / "made").exists()


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (pickle.dumps(np.array([object()])), "asks for code|another kind than numbers"),
        (pickle.dumps(np.array(["text"])), "another kind than numbers"),
        (pickle.dumps(np.array([(1, 2)], "i4,i4")), "another kind than numbers"),
        (pickle.dumps(np.asfortranarray(np.ones((2, 3)))), "column by column"),
        (pickle.dumps({1, 2}), r"refused: got instruction b'\\x8f'"),
        (pickle.dumps(SourceError), "asks for code, which is refused: got penstock.errors.SourceError"),
        (pickle.dumps(np.ndarray), "a name or a dtype where data must be"),
        (b"\x80\x63N.", "unknown protocol"),
        (b"NN.", "left over"),
        (b"N.N", "left over"),
        (b"", "cut short"),
        (b"\x80\x04\x8e\xff\xff\xff\xff\xff\xff\xff\x7fN.", "cut short"),
        (b"(P0\n.", "refused: got instruction b'P'"),
        (b"\x82\x01.", "refused"),
        (b"T\xff\xff\xff\xff.", "negative length"),
    ],
)
def test_what_is_no_plain_data_is_refused_with_the_reason(data, what):
    with pytest.raises(SourceError, match=what):
        read_pickle(data)


def test_a_value_that_holds_itself_is_refused():
    value = []
    value.append(value)
    with pytest.raises(SourceError, match="holds itself"):
        read_pickle(pickle.dumps(value))


def test_a_small_pickle_of_a_huge_tree_costs_what_the_pickle_does():
    value = "x"
    for _ in range(200):  # 2 ** 200 leaves
        value = (value, value)
    with pytest.raises(SourceError, match="neither text nor a number"):
        read_pickle(b"\x80\x03}" + pickle.dumps(value, 3)[2:-1] + b"Ns.")  # as a key, which would be hashed


@given(VALUES, st.sampled_from(PROTOCOLS), st.data())
@settings(max_examples=400)
def test_damage_gives_a_value_or_our_error(value, protocol, data):
    assert is_read_or_refused(read_pickle, damaged(pickle.dumps(value, protocol), data.draw))


CODES = [bytes([ord(code.code) if isinstance(code.code, str) else code.code]) for code in pickletools.opcodes]


@given(st.lists(st.sampled_from(CODES) | st.binary(max_size=3), max_size=40))
@settings(max_examples=600)
def test_any_program_gives_a_value_or_our_error(pieces):
    assert is_read_or_refused(read_pickle, b"".join(pieces) + b".")
