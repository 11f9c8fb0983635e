"""Reading a file a little here and a little there."""

import random

import numpy as np
import pytest

from penstock.errors import SourceError
from penstock.ingest.windowed import Windowed
from penstock.storage.local import LocalStore

DATA = np.random.default_rng(1).bytes(200_000)


def opened(folder, more=0):
    (folder / "x").write_bytes(DATA)
    return Windowed(LocalStore(str(folder)), "x", len(DATA) + more)


def test_bytes_are_those_of_the_file_wherever_they_are(tmp_path):
    file, chosen = opened(tmp_path), random.Random(2)
    for _ in range(300):
        start = chosen.randrange(len(DATA) + 1)
        length = chosen.choice([0, 1, 512, 40_000])
        length = min(length, len(DATA) - start)
        assert file.read(start, length) == DATA[start : start + length]


def test_what_lies_within_the_window_is_read_once(tmp_path):
    file = opened(tmp_path)
    file.read(1000, 10)
    (tmp_path / "x").unlink()
    assert file.read(1000, 16_384) == DATA[1000 : 1000 + 16_384]


def test_a_file_that_became_shorter_is_an_error(tmp_path):
    file = opened(tmp_path, more=5)
    with pytest.raises(SourceError, match=r"ends before these bytes.*bytes 199900-200005"):
        file.read(199_900, 105)
