"""Joined datasets: all samples of all parts, under one list of classes, loaded as if they were one."""

import pickle

import numpy as np
import pytest

import penstock
from penstock import Mixture, WeightedSampling, WindowShuffle, join
from penstock.errors import UsageError
from penstock.loader import Loader, verify_resume
from penstock.transforms import RandomResizedCrop
from tests.datasets import COUNT, folder, labelled, masked, packed
from tests.images import jpeg, photo

CROP = RandomResizedCrop(16)


@pytest.fixture
def others(tmp_path):
    """Photographs of classes of which one is known to the other dataset, too."""
    for number in range(9):
        path = tmp_path / "others" / ("class3", "animals")[number % 2] / f"{number}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(jpeg(photo(60, 50, seed=1000 + number)))
    penstock.pack(tmp_path / "others", tmp_path / "others.pen", seed=None, shard_bytes=10_000)
    return tmp_path / "others.pen"


def test_samples_follow_one_another_with_the_names_of_their_classes(others):
    one, other = penstock.open(packed()), penstock.open(others)
    joined = join([one, other, one.select([5, 2])])
    assert joined.parts == (COUNT, 9, 2)
    assert joined.classes == ("animals", "class0", "class1", "class2", "class3")
    expected = [dataset[number] for dataset in (one, other) for number in range(len(dataset))] + [one[5], one[2]]
    for number, sample in enumerate(expected):
        found = joined[number]
        assert found.key == sample.key
        assert found.fields["image"].data == sample.fields["image"].data
    names = [joined.classes[label] for label in joined.labels("label")]
    assert names[: COUNT + 9] == [d.classes[label] for d in (one, other) for label in d.labels("label")]


def test_a_joined_dataset_travels_and_keeps_its_digest(others):
    joined = join([penstock.open(packed()), penstock.open(others)])
    there = pickle.loads(pickle.dumps(joined))
    assert there.digest == joined.digest != join([penstock.open(others), penstock.open(packed())]).digest
    assert there[COUNT + 3].fields == joined[COUNT + 3].fields
    assert len(joined.select([1, COUNT + 1])) == 2


@pytest.mark.parametrize(
    "shuffle", ["full", "window", False, WindowShuffle(lanes=2, window_bytes=9000, block_bytes=4000)]
)
def test_an_epoch_has_every_sample_of_every_part(others, shuffle):
    joined = join([penstock.open(packed()), penstock.open(others)])
    with Loader(joined, batch_size=7, transforms=CROP, shuffle=shuffle) as loader:
        batches = list(loader)
        assert sorted(np.concatenate([batch.ids for batch in batches]).tolist()) == list(range(COUNT + 9))
        labels = joined.labels("label")
        assert all((batch.labels == labels[batch.ids]).all() for batch in batches)


def test_folders_are_joined_as_they_are(tmp_path):
    joined = join([penstock.open(folder()), penstock.open(folder()).select(range(5))])
    with Loader(joined, batch_size=8, transforms=CROP) as loader:
        assert sum(len(batch.ids) for batch in loader) == COUNT + 5


def test_a_mixture_has_its_ratios_and_goes_on_where_it_was(others):
    joined = join([penstock.open(packed()), penstock.open(others)])

    def loader():
        return Loader(joined, batch_size=6, transforms=CROP, shuffle=Mixture((1, 3), samples=40), seed=2)

    with loader() as whole:
        epochs = [np.concatenate([batch.ids for batch in whole]) for _ in range(2)]
        assert len(whole) == 7
    assert [(ids < COUNT).sum() for ids in epochs] == [10, 10]
    with loader() as first, loader() as second:
        batches = iter(first)
        before = [next(batches).ids for _ in range(3)]
        verify_resume(second, [first.state_dict()])
        second.load_state_dict(first.state_dict())
        after = [batch.ids for batch in second]
    assert np.array_equal(np.concatenate(before + after), epochs[0])


def test_a_sample_that_comes_again_in_an_epoch_has_another_crop():
    weights = np.zeros(COUNT)
    weights[7] = 1
    with Loader(packed(), batch_size=8, transforms=CROP, shuffle=WeightedSampling(weights, samples=8)) as loader:
        (batch,) = loader
        assert batch.ids.tolist() == [7] * 8
        assert len({image.tobytes() for image in batch.images}) > 1
        (again,) = loader
        loader.set_epoch(0)
        assert np.array_equal(next(iter(loader)).images, batch.images)
        assert not np.array_equal(again.images, batch.images)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: join([]), "at least one dataset"),
        (lambda: join([penstock.open(packed()), penstock.open(folder())]), "pack the files first"),
        (lambda: join([penstock.open(packed()), penstock.open(masked())]), "different fields"),
        (lambda: join([penstock.open(packed()), penstock.open(labelled())]), "different labels"),
        (lambda: Loader(packed(), batch_size=1, transforms=CROP, shuffle=Mixture((1, 2))), "one ratio per dataset"),
        (
            lambda: Loader(packed(), batch_size=1, transforms=CROP, shuffle=WeightedSampling([1])),
            "one weight per sample",
        ),
        (lambda: WeightedSampling([1, -1]), "none negative"),
        (lambda: WeightedSampling([1, float("nan")]), "none negative"),
        (lambda: WeightedSampling([1], samples=0), "at least 1"),
        (lambda: Mixture((0, 0)), "not all zero"),
        (lambda: Mixture((1,), samples=0), "at least 1"),
    ],
)
def test_what_cannot_be_is_refused(make, words):
    with pytest.raises(UsageError, match=words):
        make()


def test_datasets_may_be_joined_by_their_paths():
    joined = penstock.join([packed(), str(packed())])
    assert joined.digest == penstock.join([penstock.open(packed())] * 2).digest


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("x.pen", r"joining takes a list of datasets: got 'x\.pen'"),
        ([b"x.pen"], r"this is no path of a dataset: got b'x\.pen'"),
        ([1], "this is no path of a dataset: got 1"),
    ],
)
def test_what_is_no_list_of_datasets_is_not_joined(given, words):
    with pytest.raises(UsageError, match=words):
        penstock.join(given)
