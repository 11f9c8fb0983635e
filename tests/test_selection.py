"""Which fields a batch has, and that they go together."""

from __future__ import annotations

import json

import numpy as np
import pytest

import penstock
from penstock.errors import UsageError
from penstock.selection import Selection
from tests.datasets import COUNT, folder, masked, packed


def test_all_fields_by_default():
    selection = Selection.of(penstock.open(packed()), None)
    assert selection.names == ("image", "label")
    assert selection.kinds == {"image": "image"}
    assert selection.is_pair


def test_a_field_that_ends_in_mask_is_one_and_the_image_leads():
    selection = Selection.of(penstock.open(masked()), ["mask", "image", "label"])
    assert selection.kinds == {"mask": "mask", "image": "image"}
    assert selection.leader == "image"
    assert not selection.is_pair


def test_labels_and_sizes_are_those_of_the_samples_asked_for():
    dataset = penstock.open(packed())
    selection = Selection.of(dataset, None)
    ids = np.array([COUNT - 1, 0, 7])
    widths, heights = selection.sizes(ids)
    for at, number in enumerate(ids.tolist()):
        sample = dataset[number]
        assert selection.labels(ids)["label"][at] == sample.labels["label"]
        assert (widths[at], heights[at]) == (sample.fields["image"].width, sample.fields["image"].height)


def test_sizes_of_loose_objects_are_guessed_from_their_bytes(tmp_path):
    (tmp_path / "index.json").write_text(json.dumps(["class0/000.jpg", "class1/001.jpg"]))
    selection = Selection.of(penstock.open(tmp_path / "index.json", root=folder()), None)
    assert selection.is_unread
    lengths = selection.columns["image"].length
    for sides in (selection.widths, selection.heights):
        assert (3 * lengths < sides.astype(int) ** 2).all()
        assert (sides.astype(int) ** 2 < 3.3 * lengths).all()
    assert not Selection.of(penstock.open(folder()), None).is_unread


def test_an_unknown_field_is_refused_with_those_there_are():
    with pytest.raises(UsageError, match=r"depth.*image.*label"):
        Selection.of(penstock.open(packed()), ["image", "depth"])


def test_one_name_is_not_taken_for_a_list_of_letters():
    with pytest.raises(UsageError, match=r"a list of names: got 'image'(.|\n)*fields=\['image'\]"):
        Selection.of(penstock.open(packed()), "image")


def test_labels_alone_are_no_batch():
    with pytest.raises(UsageError, match="at least one image"):
        Selection.of(penstock.open(packed()), ["label"])
