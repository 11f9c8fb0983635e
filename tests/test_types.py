"""Values that pass between rooms."""

import pickle

import numpy as np

from penstock.types import Batch, Geometry, Pair, StoredField


def test_a_pair_unpacks_and_knows_its_ids():
    pair = Pair(np.zeros((2, 3)), [1, 2], np.array([5, 6]))
    images, labels = pair
    assert images is pair.images
    assert labels is pair.labels
    assert len(pair) == 2
    copy = pickle.loads(pickle.dumps(pair))
    assert copy.ids.tolist() == [5, 6]
    assert copy.labels == [1, 2]


def test_a_batch_is_a_mapping_that_knows_its_ids():
    batch = Batch({"image": np.zeros((2, 3), np.uint8), "caption": ["a", "b"]}, [0, 1])
    assert dict(**batch).keys() == {"image", "caption"}
    assert batch.ids == [0, 1]
    assert repr(batch) == "Batch(image uint8 [2, 3], caption list of 2)"


def test_reprs_are_short():
    assert repr(StoredField(b"abc", "png", 3, 4)) == "StoredField(png 3x4, 3 bytes)"
    empty = np.zeros((0, 4))
    assert repr(Geometry(empty, empty.astype(np.int32), np.zeros(0, np.uint8), 8, 9)) == "Geometry(0 images of 8x9)"
