"""Classes of loose objects: from their folders, and from the two forms of classes files."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import SourceError, UsageError
from penstock.ingest.object_classes import by_file, by_folder
from penstock.ingest.object_index import classes_of

FOLDERS = {"n02119789": {"id": 1, "name": "kit_fox"}, "n02100735": {"id": 2, "name": "setter"}}
names = st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1)


def looked_up(keys, body):
    return by_file(keys, json.dumps(body).encode(), "classes.json")


def test_the_last_folder_names_the_class_unless_another_is_asked_for():
    keys = ["data/train/fox/1.jpg", "data/train/dog/2.jpg", "data/val/dog/3.jpg"]
    found = by_folder(keys)
    assert (found.labels.tolist(), found.names) == ([1, 0, 0], ("dog", "fox"))
    found = by_folder(keys, 1)
    assert (found.labels.tolist(), found.names) == ([0, 0, 1], ("train", "val"))
    assert by_folder(keys, -1).names == ("dog", "fox")
    assert by_folder(keys, 0).names == ("data",)


def test_keys_in_one_folder_have_no_classes_unless_they_are_asked_for():
    assert by_folder(["1.jpg", "2.jpg"]) is None
    assert by_folder(["val/1.jpg", "val/2.jpg"]) is None
    assert by_folder(["val/1.jpg", "val/2.jpg"], -1).names == ("val",)
    assert classes_of(["a/1.jpg", "b/1.jpg"], False, None) is None


def test_a_key_without_the_folder_that_names_its_class_is_named():
    with pytest.raises(SourceError, match=r"1 keys have no folder of their own to name their class: got 2\.jpg"):
        by_folder(["a/1.jpg", "2.jpg"])
    with pytest.raises(SourceError, match=r"4 keys have no folder number 2 .*a/0\.jpg, a/1\.jpg, a/2\.jpg and 1 more"):
        by_folder([f"a/{i}.jpg" for i in range(4)], 2)
    with pytest.raises(UsageError, match="which folder of the keys"):
        classes_of(["a/1.jpg"], 1.5, None)


@given(st.lists(st.tuples(names, names), min_size=1))
def test_classes_by_folder_are_sorted_names_and_labels_are_places_among_them(pairs):
    found = by_folder([f"top/{folder}/{base}" for folder, base in pairs], 1)
    assert len(found.names) == len({folder for folder, _ in pairs})
    folders = sorted({folder for folder, _ in pairs})
    assert [folders[label] for label in found.labels] == [folder for folder, _ in pairs]


def test_a_file_by_folder_numbers_classes_in_the_order_of_their_ids():
    keys = ["scratch/imagenet/train/n02100735/1.JPEG", "n02119789/2.JPEG", "n02119789/n02100735/x/3.JPEG"]
    found = looked_up(keys, FOLDERS)
    assert (found.labels.tolist(), found.names) == ([1, 0, 1], ("kit_fox", "setter"))
    cranes = {"n1": {"id": 9, "name": "crane"}, "n2": {"id": 4, "name": "crane"}, "n3": {"id": 7}}
    assert looked_up(["n1/1.jpg"], cranes).names == ("crane (n2)", "n3", "crane (n1)")


def test_a_file_by_number_knows_images_by_the_last_number_of_their_names():
    keys = ["val/ILSVRC2012_val_00000001.JPEG", "ILSVRC2012_val_00000010.JPEG", "7"]
    found = looked_up(keys, {"1": 490, "10": 1, "7": 490, "8": 20})
    assert (found.labels.tolist(), found.names) == ([2, 0, 2], ("1", "20", "490"))
    found = looked_up(keys, {"1": "fox", "10": "dog", "007": "fox"})
    assert (found.labels.tolist(), found.names) == ([1, 0, 1], ("dog", "fox"))


@given(st.dictionaries(st.integers(0, 10**8 - 1), st.integers(0, 999), min_size=1))
def test_both_forms_number_the_same_classes_alike(class_of_image):
    by_number = looked_up(
        [f"val_{number:08d}.JPEG" for number in class_of_image], {str(k): v for k, v in class_of_image.items()}
    )
    folders = {f"n{number}": {"id": number, "name": f"name {number}"} for number in class_of_image.values()}
    trained = looked_up([f"n{number}/x.JPEG" for number in class_of_image.values()], folders)
    assert by_number.labels.tolist() == trained.labels.tolist()
    assert len(by_number.names) == len(trained.names) == len(set(class_of_image.values()))


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"{", "not JSON"),
        (b"[]", "not a JSON object"),
        (b"{}", "not a JSON object"),
        (b'{"n1": {"name": "fox"}}', r"a class has no id: got 'n1'"),
        (b'{"n1": {"id": 1}, "n2": {"id": 1}}', "two classes have one id: got 1"),
        (b'{"n1": 3}', r"neither form: got 'n1': 3"),
        (b'{"1": 3, "2": null}', r"neither form: got '2': None"),
        (b'{"1": 3, "2": "fox"}', "some are names"),
        (b'{"1": 3, "01": 4}', "two classes for one number"),
        (b'{"n3": {"id": 1}}', r"2 keys have folders that are no class: got n1/a1\.jpg, n2/b\.jpg"),
        (b'{"2": 3}', r"2 keys have numbers that have no class: got n1/a1\.jpg, n2/b\.jpg"),
    ],
)
def test_what_is_wrong_with_a_classes_file_is_said_with_an_example(body, said):
    with pytest.raises(SourceError, match=said) as caught:
        by_file(["n1/a1.jpg", "n2/b.jpg"], body, "classes.json")
    assert caught.value.file == "classes.json"
