"""The loader: every sample once, pixels decided by name alone, batches that are safe to keep, errors as asked for."""

import io
import shutil
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image, ImageOps

import penstock
from penstock.errors import ChecksumError, DataError, FormatError, ImageError, UsageError
from penstock.loader import Loader, Tuning
from penstock.transforms import (
    CenterCrop,
    Normalize,
    RandomCrop,
    RandomHorizontalFlip,
    RandomResizedCrop,
    Resize,
    ToDtype,
)
from penstock.types import Batch, Pair
from tests.datasets import COUNT, folder, labelled, masked, packed, pixels_of
from tests.images import jpeg, photo

AUGMENT = (RandomResizedCrop(32), RandomHorizontalFlip())


def epoch_of(loader):
    """All of an epoch by sample id: pixels and labels."""
    found = {}
    for batch in loader:
        assert len(batch.ids) == len(batch.images) == len(batch.labels)
        for number, image, label in zip(batch.ids.tolist(), batch.images, batch.labels.tolist(), strict=True):
            assert number not in found
            found[number] = (image.copy(), label)
    return found


def ids_of(loader):
    return np.concatenate([batch.ids for batch in loader]).tolist()


@pytest.mark.parametrize("dataset", [packed, folder])
@pytest.mark.parametrize("shuffle", ["full", "window", False])
def test_an_epoch_has_every_sample_once_with_its_label(dataset, shuffle):
    with Loader(dataset(), batch_size=10, transforms=AUGMENT, shuffle=shuffle, threads=2) as loader:
        assert len(loader) == 5
        found = epoch_of(loader)
        labels = loader.dataset.labels("label")
    assert sorted(found) == list(range(COUNT))
    assert all(label == labels[number] for number, (_, label) in found.items())


def test_sequential_is_the_order_of_storage_and_drop_last_drops_the_short_batch():
    with Loader(packed(), batch_size=10, transforms=AUGMENT, shuffle=False, drop_last=True) as loader:
        assert len(loader) == 4
        assert ids_of(loader) == list(range(40))


def test_each_iteration_is_the_next_epoch_and_set_epoch_goes_anywhere():
    with Loader(packed(), batch_size=16, transforms=AUGMENT, seed=5) as loader:
        first, second = ids_of(loader), ids_of(loader)
        loader.set_epoch(0)
        assert loader.epoch == 0
        assert ids_of(loader) == first != second
        assert ids_of(loader) == second
    with Loader(packed(), batch_size=16, transforms=AUGMENT, seed=6) as other:
        assert ids_of(other) != first


def test_pixels_are_the_same_for_any_threads_batch_size_memory_and_order():
    def loaded(**options):
        with Loader(packed(), transforms=AUGMENT, seed=3, **options) as loader:
            return epoch_of(loader)

    reference = loaded(batch_size=7, threads=0)
    for options in (
        {"batch_size": 7, "threads": 3},
        {"batch_size": 47, "threads": 1, "memory": 10**8},
        {"batch_size": 1, "threads": 2, "memory": 10**6},
        {"batch_size": 5, "shuffle": False, "tuning": Tuning(decoding_calls=4)},
    ):
        other = loaded(**options)
        assert all(np.array_equal(other[number][0], image) for number, (image, _) in reference.items())


def test_augmentation_changes_with_the_epoch_and_the_seed():
    with Loader(packed(), batch_size=47, transforms=AUGMENT, seed=3) as loader:
        first, second = epoch_of(loader), epoch_of(loader)
    changed = sum(not np.array_equal(first[number][0], second[number][0]) for number in first)
    assert changed > 40


def test_loading_by_number_gives_the_pixels_of_the_iteration():
    with Loader(packed(), batch_size=8, transforms=AUGMENT, seed=3) as loader:
        loader.set_epoch(4)
        found = epoch_of(loader)
        batch = loader.load(range(20), epoch=4)  # more than a batch
    assert batch.ids.tolist() == list(range(20))
    assert all(np.array_equal(batch.images[number], found[number][0]) for number in range(20))


def test_the_evaluation_crop_agrees_with_pillow():
    loader = Loader(packed(), batch_size=COUNT, transforms=[Resize(64), CenterCrop(48)], shuffle=False)
    images = loader.load(range(COUNT)).images
    for number in range(COUNT):
        picture = Image.open(io.BytesIO(jpeg_of(loader, number)))
        width, height = picture.size
        size = (64, int(64 * height / width)) if width <= height else (int(64 * width / height), 64)
        resized = picture.resize(size, Image.Resampling.BILINEAR)
        left, top = round((size[0] - 48) / 2), round((size[1] - 48) / 2)
        oracle = np.asarray(resized.crop((left, top, left + 48, top + 48)))
        difference = np.abs(images[number].transpose(1, 2, 0).astype(int) - oracle)
        assert difference.mean() < 0.6
        assert np.percentile(difference, 99.9) <= 8


def jpeg_of(loader, number):
    return loader.dataset[number].fields["image"].data


def test_packed_and_in_place_give_the_same_pixels():
    options = {"batch_size": 16, "transforms": AUGMENT}
    with Loader(packed(), **options) as one, Loader(folder(), **options) as two:
        tiled, plain = epoch_of(one), epoch_of(two)
    for number, (image, label) in tiled.items():
        assert label == plain[number][1]
        assert np.abs(image.astype(int) - plain[number][0]).mean() < 0.6


def test_image_and_mask_share_the_crop_and_the_flip():
    with Loader(masked(), batch_size=6, transforms=[RandomCrop(40), RandomHorizontalFlip()]) as loader:
        batches = list(loader)
    assert sum(len(batch["image"]) for batch in batches) == 20
    for batch in batches:
        assert isinstance(batch, Batch)
        assert list(batch) == ["image", "mask", "label"]
        assert batch["mask"].shape == (len(batch.ids), 1, 40, 40)
        assert np.array_equal(batch["image"][:, 0], batch["mask"][:, 0])


def test_masks_keep_their_values_where_images_are_resampled():
    with Loader(masked(), batch_size=20, transforms=RandomResizedCrop(24), fields=["mask"], shuffle=False) as loader:
        (batch,) = loader
    for number in range(20):
        assert set(np.unique(batch["mask"][number])) <= set(np.unique(pixels_of_masked(loader, number)))


def pixels_of_masked(loader, number):
    return pixels_of(int(loader.dataset.key(number).rpartition("/")[2]))[:, :, 0]


def test_labels_of_any_type_come_along():
    with Loader(labelled(), batch_size=8, shuffle=False) as loader:
        (batch,) = loader
    assert set(batch) == {"image", "caption", "weight", "label"}
    assert batch["caption"] == [f"number {int(2 * weight)}" for weight in batch["weight"]]
    assert batch["weight"].dtype == np.float64
    assert repr(batch).startswith("Batch(image uint8 [8, 3, 48, 64], ")


def test_one_image_and_one_label_are_a_pair():
    with Loader(labelled(), batch_size=8, fields=["image", "caption"], shuffle=False) as loader:
        (pair,) = loader
    assert isinstance(pair, Pair)
    images, captions = pair
    assert images is pair.images
    assert captions is pair.labels
    assert repr(pair) == "Pair(uint8 [8, 3, 48, 64], list of 8)"


def test_values_are_applied_and_channels_may_come_last():
    transforms = [Resize((32, 32)), ToDtype("float32", scale=True), Normalize([0.5, 0.4, 0.3], [0.2, 0.3, 0.4])]
    with (
        Loader(packed(), batch_size=9, transforms=transforms, channels_first=False, shuffle=False) as loader,
        Loader(packed(), batch_size=9, transforms=transforms[:1], shuffle=False) as plain,
    ):
        for batch, other in zip(loader, plain, strict=True):
            assert batch.images.dtype == np.float32
            expected = (other.images.transpose(0, 2, 3, 1) / 255 - [0.5, 0.4, 0.3]) / [0.2, 0.3, 0.4]
            assert np.allclose(batch.images, expected, atol=1e-5)


def test_exif_orientations_are_ignored_by_default_and_applied_on_request(tmp_path):
    exif = Image.Exif()
    exif[274] = 6
    (tmp_path / "photos" / "one").mkdir(parents=True)
    for number, options in enumerate(({"exif": exif}, {})):
        (tmp_path / "photos" / "one" / f"{number}.jpg").write_bytes(jpeg(photo(80, 60), quality=95, **options))
    with Loader(tmp_path / "photos", batch_size=2, transforms=CenterCrop(40), shuffle=False) as loader:
        turned, plain = next(iter(loader)).images
        assert np.array_equal(turned, plain)
    with Loader(
        tmp_path / "photos", batch_size=2, transforms=CenterCrop(40), shuffle=False, exif_orientation=True
    ) as loader:
        turned, plain = next(iter(loader)).images
    assert np.abs(turned.astype(int) - np.rot90(plain, -1, axes=(1, 2))).mean() < 1


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("kind", ["png", "webp", "tiff", "jpeg", "cmyk"])
def test_orientations_of_every_format_are_those_of_pillow(tmp_path, kind, orientation):
    exif = Image.Exif()
    exif[274] = orientation
    (tmp_path / "photos" / "one").mkdir(parents=True)
    path = tmp_path / "photos" / "one" / "0.image"
    picture = Image.fromarray(photo(80, 60)).convert("CMYK" if kind == "cmyk" else "RGB")
    path = path.with_suffix(".jpg" if kind == "cmyk" else f".{kind}")
    options = {"quality": 95} if kind in {"jpeg", "cmyk"} else {"lossless": True} if kind == "webp" else {}
    picture.save(path, exif=exif, **options)
    with Image.open(path) as stored:
        expected = np.asarray(ImageOps.exif_transpose(stored).convert("RGB"))
    top, left = (expected.shape[0] - 40) // 2, (expected.shape[1] - 30) // 2
    options = {"exif_orientation": True, "channels_first": False}
    with Loader(tmp_path / "photos", batch_size=1, transforms=CenterCrop((40, 30)), **options) as loader:
        ((images, _),) = loader
    assert np.abs(images[0].astype(int) - expected[top : top + 40, left : left + 30]).mean() < 1


def test_images_whose_orientations_leave_them_no_common_size_are_refused(tmp_path):
    exif = Image.Exif()
    exif[274] = 6
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "0.jpg").write_bytes(jpeg(photo(80, 60), exif=exif))
    loader = Loader(tmp_path, batch_size=1, exif_orientation=True)
    with pytest.raises(UsageError, match="turned by their orientations: got 60x80, expected 80x60"):
        list(loader)
    loader.close()


def test_kept_batches_keep_their_pixels():
    with Loader(packed(), batch_size=4, transforms=AUGMENT, memory=2_000_000) as loader:
        kept = list(loader)
        copies = [batch.images.copy() for batch in kept]
        for _ in range(3):
            for _ in loader:
                pass
        assert all(np.array_equal(batch.images, copy) for batch, copy in zip(kept, copies, strict=True))


def test_dropped_batches_give_their_memory_back():
    with Loader(packed(), batch_size=1, transforms=AUGMENT, memory=200_000) as loader:
        places = {batch.images.__array_interface__["data"][0] for _ in range(3) for batch in loader}
    assert (
        len(places) <= loader._memory.depth + 2 + 2
    )  # that wait, that are decoded, that the consumer has or lets go of


def test_the_memory_budget_decides_the_depth():
    def depth(memory):
        return Loader(packed(), batch_size=16, transforms=AUGMENT, memory=memory)._memory.depth

    assert depth(1_000_000) < depth(2_000_000) <= depth(None)
    with pytest.raises(UsageError, match="memory budget is too small"):
        depth(100_000)


def damaged(tmp_path, number):
    """The packed dataset with one byte of one sample changed."""
    copy = tmp_path / "damaged.pen"
    shutil.copytree(packed(), copy)
    dataset = penstock.open(copy)
    (shard,) = (copy / "shards").iterdir()
    with shard.open("r+b") as file:
        file.seek(int(dataset.column("image").offset[number]) + 700)
        byte = file.read(1)[0]
        file.seek(-1, 1)
        file.write(bytes([byte ^ 1]))
    return copy


def test_a_damaged_sample_stops_the_loader_and_is_named(tmp_path):
    path = damaged(tmp_path, 17)
    loader = Loader(path, batch_size=10, transforms=AUGMENT, shuffle=False)
    batches = iter(loader)
    assert next(batches).ids.tolist() == list(range(10))
    with pytest.raises(ChecksumError, match="crc32c got") as caught:
        next(batches)
    assert caught.value.sample == loader.dataset.key(17)
    assert caught.value.file == "shards/000000.tar"
    assert caught.value.byte_range[0] == loader.dataset.column("image").offset[17]
    loader.close()


def test_skipping_makes_the_batch_shorter_and_counts(tmp_path):
    with Loader(damaged(tmp_path, 17), batch_size=10, transforms=AUGMENT, on_error="skip") as loader:
        found = epoch_of(loader)
        statistics = loader.statistics()
    assert sorted(found) == [number for number in range(COUNT) if number != 17]
    assert statistics.skipped == {"ChecksumError": 1}
    assert statistics.samples == COUNT - 1
    assert "crc32c" in str(statistics.errors[0])
    assert statistics.errors[0].file == "shards/000000.tar"
    with Loader(packed(), batch_size=10, transforms=AUGMENT) as whole:
        reference = epoch_of(whole)
    assert all(np.array_equal(image, reference[number][0]) for number, (image, _) in found.items())


def test_files_that_vanish_or_shrink_are_skipped_or_named(tmp_path):
    shutil.copytree(folder(), tmp_path / "photos")
    loader = Loader(tmp_path / "photos", batch_size=10, transforms=AUGMENT, on_error="skip", shuffle=False)
    (tmp_path / "photos" / "class0" / "000.jpg").unlink()
    shrunk = tmp_path / "photos" / "class1" / "001.jpg"
    shrunk.write_bytes(shrunk.read_bytes()[:500])
    found = epoch_of(loader)
    assert len(found) == COUNT - 2
    assert sum(loader.statistics().skipped.values()) == 2
    loader.close()
    with (
        Loader(loader.dataset, batch_size=10, transforms=AUGMENT, shuffle=False) as strict,
        pytest.raises((OSError, DataError), match=r"class0/000\.jpg"),
    ):
        list(strict)


@pytest.mark.parametrize("transforms", [RandomCrop(64), RandomResizedCrop(32), Resize(40), ()])
@pytest.mark.parametrize("name", ["000.jpg", "002.jpg"])
def test_a_file_that_is_no_image_is_that_samples_error_whatever_the_transforms(tmp_path, transforms, name):
    for number in range(4):
        (tmp_path / "one").mkdir(exist_ok=True)
        (tmp_path / "one" / f"{number:03d}.jpg").write_bytes(jpeg(photo(96, 72, seed=number)))
    (tmp_path / "one" / name).write_bytes(b"this is no image")
    options = {"batch_size": 2, "transforms": transforms, "shuffle": False}
    with Loader(tmp_path, on_error="skip", **options) as loader:
        assert len(ids_of(loader)) == 3
        statistics = loader.statistics()
    assert statistics.skipped == {"ImageError": 1}
    assert (statistics.errors[0].sample, statistics.errors[0].file) == (f"one/{name[:3]}", f"one/{name}")
    with Loader(tmp_path, **options) as strict, pytest.raises(ImageError, match=rf"not an image.*one/{name}"):
        list(strict)


def test_an_image_that_is_too_small_for_a_crop_is_named(tmp_path):
    (tmp_path / "one").mkdir()
    for number, side in enumerate((80, 80, 80, 60)):
        (tmp_path / "one" / f"{number}.jpg").write_bytes(jpeg(photo(96, side, seed=number)))
    with (
        Loader(tmp_path, batch_size=2, transforms=RandomCrop(64)) as loader,
        pytest.raises(UsageError, match=r"smaller than the crop: got 60 pixels.*sample one/3, file one/3\.jpg"),
    ):
        list(loader)
    with pytest.raises(UsageError, match=r"96x60 and 96x80.*file one/0\.jpg"):
        Loader(tmp_path, batch_size=2)


def test_a_batch_of_nothing_but_errors_is_delivered_empty(tmp_path):
    with Loader(damaged(tmp_path, 17), batch_size=1, transforms=AUGMENT, on_error="skip", shuffle=False) as loader:
        lengths = [len(images) for images, _ in loader]
    assert lengths == [0 if number == 17 else 1 for number in range(COUNT)]


def test_statistics_tell_what_was_done():
    with Loader(packed(), batch_size=10, transforms=AUGMENT) as loader:
        assert loader.statistics().samples == 0
        batches = iter(loader)
        next(batches)
        assert loader.statistics().samples >= 10
        list(batches)
        statistics = loader.statistics()
        encoded_bytes = int(loader.dataset.column("image").length.sum())
    assert (statistics.samples, statistics.skipped, statistics.warned) == (COUNT, {}, 0)
    assert statistics.read_bytes == encoded_bytes
    assert [stage.name for stage in statistics.stages] == ["read", "decode"]
    assert [stage.items for stage in statistics.stages] == [5, 5]


def test_a_dataset_without_samples_has_no_batches():
    dataset = penstock.open(packed()).select([])
    with Loader(dataset, batch_size=4, transforms=AUGMENT) as loader:
        assert len(loader) == 0
        assert list(loader) == []


def test_a_view_is_loaded_as_a_dataset_of_its_own():
    dataset = penstock.open(packed())
    chosen = dataset.select(np.flatnonzero(dataset.labels("label") == 2))
    with Loader(chosen, batch_size=4, transforms=AUGMENT) as loader:
        found = epoch_of(loader)
    assert sorted(found) == list(range(len(chosen)))
    assert {label for _, label in found.values()} == {2}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"batch_size": 0}, "batch_size: got 0, expected a whole number, at least 1"),
        ({"batch_size": 2.5}, "batch_size: got 2.5"),
        ({"shuffle": True}, "'full', 'window', False"),
        ({"shuffle": ["full"]}, "'full', 'window', False"),
        ({"threads": -1}, "threads: got -1"),
        ({"seed": None}, "seed: got None"),
        ({"memory": "2GB"}, "memory, in bytes: got '2GB'"),
        ({"on_error": "ignore"}, "on_error"),
        ({"fields": ["image", "caption"]}, "no such field"),
        ({"fields": ["label"]}, "at least one image field"),
        ({"transforms": ()}, "differ in size"),
        ({"transforms": [*AUGMENT, lambda image: image]}, "use penstock.torch.Loader"),
        ({"transforms": [*AUGMENT, ToDtype("bfloat16")]}, "no bfloat16"),
    ],
)
def test_what_cannot_be_is_refused_at_once(options, words):
    with pytest.raises(UsageError, match=words):
        Loader(packed(), **{"batch_size": 4, "transforms": AUGMENT, **options})


@pytest.mark.parametrize(
    ("ids", "words"),
    [
        ([5, COUNT], f"got 5 to {COUNT}, expected 0 to {COUNT - 1}"),
        ([-1], "no such sample"),
        ([0.7], "float64"),
        (3, "row"),
    ],
)
def test_numbers_of_no_sample_are_refused(ids, words):
    with Loader(packed(), batch_size=4, transforms=AUGMENT) as loader:
        assert len(loader.load([]).images) == 0
        with pytest.raises(UsageError, match=words):
            loader.load(ids)


def test_a_closed_loader_says_so():
    loader = Loader(packed(), batch_size=4, transforms=AUGMENT)
    loader.close()
    loader.close()
    for use in (lambda: next(iter(loader)), lambda: loader.load([0])):
        with pytest.raises(UsageError, match="the loader is closed"):
            use()


def test_seeds_and_epochs_may_be_numpy_integers():
    with Loader(packed(), batch_size=COUNT, transforms=AUGMENT, seed=np.int64(2**40)) as loader:
        loader.set_epoch(np.int64(3))
        numpys = next(iter(loader)).images
    with Loader(packed(), batch_size=COUNT, transforms=AUGMENT, seed=2**40) as loader:
        loader.set_epoch(3)
        assert np.array_equal(next(iter(loader)).images, numpys)


def test_a_mask_of_another_size_than_its_image_is_refused():
    dataset = penstock.open(masked())
    column = dataset.column("mask")
    dataset._columns["mask"] = replace(column, width=column.width + (np.arange(20) == 3))
    with pytest.raises(FormatError, match="no crop can serve both"):
        Loader(dataset, batch_size=4, transforms=AUGMENT)


def test_a_loader_prints_what_it_is():
    with Loader(packed(), batch_size=4, transforms=AUGMENT) as loader:
        assert "12 batches of 4" in repr(loader)
        assert loader.kinds == {"image": "image"}


def test_there_is_no_epoch_before_the_first():
    with Loader(packed(), batch_size=10, transforms=AUGMENT) as loader:
        with pytest.raises(UsageError, match="epoch: got -1, expected a whole number, at least 0"):
            loader.set_epoch(-1)
        with pytest.raises(UsageError, match="epoch: got -1, expected a whole number, at least 0"):
            loader.load([0], epoch=-1)
        assert loader.epoch == 0


@pytest.mark.parametrize("given", [b"photos.pen", 5, None])
def test_what_is_no_path_is_refused(given):
    with pytest.raises(UsageError, match=r"this is no path of a dataset: got .*, expected a str or a pathlib\.Path"):
        Loader(given, batch_size=10, transforms=AUGMENT)
