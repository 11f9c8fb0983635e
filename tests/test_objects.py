"""Loose objects in place: opened by a list, loaded as the same files in a folder are."""

import json
import pickle
import shutil
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from io import BytesIO
from multiprocessing import get_context

import numpy as np
import pytest
import torch
from PIL import Image

import penstock
import penstock.torch
from penstock.errors import ImageError, PenstockError, SourceError, StorageError, UsageError
from penstock.ingest.object_lister import index_objects
from penstock.loader import Loader
from penstock.storage.user_cache import user_cache
from penstock.transforms import CenterCrop, RandomCrop, RandomHorizontalFlip, RandomResizedCrop, Resize
from tests import folders
from tests.datasets import COUNT, folder, packed
from tests.images import jpeg, photo, png
from tests.loose import Bucket

AUGMENT = (RandomResizedCrop(32), RandomHorizontalFlip())
ODD = ["a b/ü 1.jpg", "a b/50%.png", "c/1+1=2.jpg", "c/50%25.jpg", "c/日 &~.jpg"]


@pytest.fixture
def bucket(seaweedfs, monkeypatch, request):
    return Bucket(seaweedfs, request.node.name.replace("[", "/").replace("]", ""), monkeypatch)


@pytest.fixture
def photos(bucket, tmp_path):
    """47 photographs in a bucket, opened by a list of them."""
    bucket.put(folder())
    index_objects(bucket.root, tmp_path / "photos.parquet", access=bucket.access)
    return penstock.open(tmp_path / "photos.parquet", access=bucket.access)


def listed(path, at, **options):
    """The images of a folder of this machine, opened by a list of them."""
    index_objects(path, at)
    return penstock.open(at, **{"root": path, **options})


def epoch_of(dataset, transforms=AUGMENT, **options):
    """An epoch by sample id: pixels and label."""
    options = {"batch_size": 10, "seed": 3, "threads": 2, **options}
    found = {}
    with Loader(dataset, transforms=transforms, **options) as loader:
        for batch in loader:
            labels = batch.labels.tolist() if hasattr(batch, "labels") else [None] * len(batch.ids)
            images = batch.images if hasattr(batch, "images") else batch["image"]
            found |= {
                number: (image.copy(), label)
                for number, image, label in zip(batch.ids.tolist(), images, labels, strict=True)
            }
    return found


def assert_same(found, expected):
    assert found.keys() == expected.keys()
    assert all(
        label == expected[number][1] and np.array_equal(image, expected[number][0])
        for number, (image, label) in found.items()
    )


@pytest.mark.parametrize("shuffle", ["full", "window", False])
def test_objects_give_exactly_the_pixels_and_labels_of_the_folder(photos, shuffle):
    opened = photos.stored.store.statistics().requests
    assert opened == 0  # sizes come from the list, and headers with the images
    assert photos.classes == penstock.open(folder()).classes
    assert_same(epoch_of(photos, shuffle=shuffle), epoch_of(folder(), shuffle=shuffle))
    assert photos.stored.store.statistics().requests - photos.stored.store.statistics().hedges == COUNT


@pytest.mark.parametrize(
    "transforms",
    [[Resize(64), CenterCrop(48)], [CenterCrop(150)], [Resize((20, 30)), RandomHorizontalFlip()], [RandomCrop(50)]],
)
def test_any_transforms_that_fix_the_size_give_the_pixels_of_the_folder(tmp_path, transforms):
    objects = listed(folder(), tmp_path / "index.json")
    assert_same(epoch_of(objects, transforms), epoch_of(folder(), transforms))


@pytest.mark.parametrize("orients", [False, True])
def test_images_of_all_kinds_are_known_by_their_headers(tmp_path, orients):
    exif = b"Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\3\0\0\0\1\0\6\0\0\0\0\0\0"  # a quarter turn
    cmyk = BytesIO()
    Image.fromarray(photo(40, 30)).convert("CMYK").save(cmyk, "JPEG")
    files = {"a/1.jpg": jpeg(photo(64, 48), exif=exif), "a/2.png": png(photo(48, 64)), "b/3.jpg": cmyk.getvalue()}
    source = folders.write(tmp_path / "photos", files)
    objects = listed(source, tmp_path / "index.json")
    options = {"exif_orientation": orients}
    assert_same(epoch_of(objects, **options), epoch_of(source, **options))
    formats = [(one.fields["image"].format, one.fields["image"].width) for one in objects]
    assert formats == [("jpeg", 64), ("png", 48), ("jpeg", 40)]


def test_a_list_as_others_write_it_is_read_in_its_own_order(bucket, tmp_path):
    names = bucket.put(folders.classes(tmp_path / "photos", 6, per_class=3))[::-1]
    dataset = bucket.open([f"{bucket.place}/{name}" for name in names], tmp_path / "i.json", root=bucket.bucket)
    assert [sample.key for sample in dataset] == [f"{bucket.place}/{name}".removesuffix(".JPEG") for name in names]
    assert dataset.labels("label").tolist() == [1] * 3 + [0] * 3
    for name, sample in zip(names, dataset, strict=True):
        assert sample.fields["image"].data == (tmp_path / "photos" / name).read_bytes()
    with pytest.raises(SourceError, match=rf"(?s)are not there.*say root='{bucket.bucket}'"):
        bucket.open([f"{bucket.place}/{name}" for name in names], tmp_path / "i.json")


def test_odd_names_are_listed_opened_and_read(bucket, tmp_path):
    source = folders.write(tmp_path / "photos", {name: folders.jpeg(at) for at, name in enumerate(ODD)})
    bucket.put(source)
    for form in ("json", "parquet"):
        index_objects(bucket.root, tmp_path / f"i.{form}", access=bucket.access)
        objects = penstock.open(tmp_path / f"i.{form}", root=bucket.root, access=bucket.access)
        assert_same(epoch_of(objects), epoch_of(source))
        assert [sample.key for sample in objects] == [sample.key for sample in penstock.open(source)]


def test_more_objects_than_a_page_are_listed_once_and_remembered(bucket, tmp_path, monkeypatch):
    data = folders.jpeg()
    count = 1100
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda at: bucket.store.write(f"{at % 2}/{at:04d}.jpg", data[: 100 + at]), range(count)))
    told = []
    report = index_objects(
        bucket.root, f"{bucket.root}/index.json", access=bucket.access, progress=lambda *said: told.append(said)
    )
    assert (report.objects, report.bytes) == (count, sum(min(100 + at, len(data)) for at in range(count)))
    assert told == [("names", 1000, None)]
    index = f"{bucket.root}/index.json"
    dataset = penstock.open(index, root=bucket.root, access=bucket.access)
    column = dataset.column("image")
    assert dataset.classes == ("0", "1")
    lengths = dict(zip(dataset.index.column("file").to_pylist(), column.length.tolist(), strict=True))
    assert lengths == {f"{at % 2}/{at:04d}.jpg": min(100 + at, len(data)) for at in range(count)}
    monkeypatch.setattr("penstock.ingest.object_index.looked_up", None)  # would fail if the store were asked again
    assert penstock.open(index, root=bucket.root, access=bucket.access).digest == dataset.digest


def test_a_plain_web_server_is_asked_for_each_size(nginx, tmp_path):
    source = shutil.copytree(folder(), nginx.folder / "photos")
    index_objects(source, nginx.folder / "photos.json")
    dataset = penstock.open(f"{nginx.endpoint}/photos.json", root=f"{nginx.endpoint}/photos")
    assert_same(epoch_of(dataset), epoch_of(folder()))


def test_objects_that_are_not_there_are_counted_and_named(bucket, tmp_path):
    names = bucket.put(folders.classes(tmp_path / "photos", 2))
    with pytest.raises(SourceError, match=r"4 of the 6 objects of the index are not there: got x0, x1, x2 and 1 more"):
        bucket.open([*names, *(f"x{at}" for at in range(4))], tmp_path / "i.json", classes=False)
    with pytest.raises(SourceError, match=r"1 of the 1 objects"):
        bucket.open(["c0"], tmp_path / "i.json", root=str(tmp_path / "photos" / "c0" / "000.JPEG"), access=None)


SIZES = r"(?s)another size.*got {got:,} bytes, expected {expected:,}.*delete"


@pytest.mark.parametrize("is_cached", [False, True], ids=["fetched", "through a cache"])
@pytest.mark.parametrize(
    "data", [folders.jpeg(7) + bytes(9), folders.jpeg()[:-9], b""], ids=["longer", "shorter", "empty"]
)
def test_an_object_that_was_replaced_is_an_error_that_says_so(bucket, tmp_path, data, is_cached):
    """Also where sizes were looked up once, for a list that has none, and are believed since."""
    names = bucket.put(folders.classes(tmp_path / "photos", 3))
    options = {"classes": -1, "cache": tmp_path / "kept" if is_cached else None}
    bucket.open(names, tmp_path / "i.json", **options)
    bucket.store.write(names[1], data)
    dataset = bucket.open(names, tmp_path / "i.json", **options)
    with pytest.raises(StorageError, match=SIZES.format(got=len(data), expected=len(folders.jpeg(1)))) as caught:
        dataset[1]
    assert f"{bucket.root}/{names[1]}" in str(caught.value)
    with Loader(dataset, batch_size=3, transforms=AUGMENT, on_error="skip") as loader:
        (batch,) = loader
        assert sorted(batch.ids.tolist()) == [0, 2]
        assert [error.sample for error in loader.statistics().errors] == ["c0/001"]
    shutil.rmtree(user_cache("objects"))
    assert penstock.open(tmp_path / "i.json", root=bucket.root, access=bucket.access)[1].fields["image"].data == data


def test_files_that_have_another_size_than_in_their_list_are_an_error_when_it_is_opened(tmp_path):
    source = folders.classes(tmp_path / "photos", 3)
    assert len(listed(source, tmp_path / "i.parquet")) == 3
    (source / "c0" / "001.JPEG").write_bytes(b"other")
    with pytest.raises(SourceError, match=r"1 files have another size .*got 5 bytes.*001\.JPEG"):
        penstock.open(tmp_path / "i.parquet")


def test_bytes_that_are_no_image_are_that_samples_error_alone(tmp_path):
    files = {f"a/{at}.jpg": jpeg(photo(64, 48, seed=at)) for at in range(6)}
    source = folders.write(
        tmp_path / "photos", files | {"a/2.jpg": b"<html>", "a/4.jpg": b"", "a/5.jpg": b"\xff\xd8\xff"}
    )
    objects = listed(source, tmp_path / "i.json", classes=False)
    for transforms in (AUGMENT, [RandomCrop(40)], [CenterCrop(200)]):
        for batch_size in (1, 6):
            options = {"on_error": "skip", "fields": ["image"], "batch_size": batch_size}
            found, expected = (epoch_of(one, transforms, **options) for one in (objects, source))
            assert sorted(found) == [0, 1, 3]
            assert_same(found, expected)
    with (
        Loader(objects, batch_size=6, transforms=AUGMENT, shuffle=False) as loader,
        pytest.raises(ImageError, match=r"sample a/2, file a/2\.jpg"),
    ):
        list(loader)
    assert objects[2].fields["image"].format == "unknown"


def test_bad_files_of_a_folder_and_bad_objects_do_not_disturb_one_another(tmp_path):
    good = {f"{part}/{at}.jpg": jpeg(photo(64, 48, seed=at)) for part in "ab" for at in range(2)}
    source = folders.write(tmp_path / "photos", good | {"a/0.jpg": b"no", "b/1.jpg": b"no"})
    joined = penstock.join([penstock.open(source), listed(source, tmp_path / "i.json")])
    found = epoch_of(joined, [RandomCrop(40)], on_error="skip")
    expected = epoch_of(source, [RandomCrop(40)], on_error="skip")
    assert sorted(found) == [1, 2, 5, 6]
    assert_same({number: found[number] for number in (1, 2)}, expected)


def test_an_image_that_is_too_small_for_its_crop_is_named(tmp_path):
    objects = listed(folder(), tmp_path / "i.json")
    with (
        Loader(objects, batch_size=COUNT, transforms=RandomCrop(73), shuffle=False) as loader,
        pytest.raises(UsageError, match=r"smaller than the crop.*sample class0/000"),
    ):
        list(loader)


def test_where_no_transform_fixes_the_size_that_is_said_at_once(tmp_path):
    objects = listed(folder(), tmp_path / "i.json")
    for transforms in ((), Resize(64)):
        with pytest.raises(UsageError, match=r"(?s)do not fix the size.*before they are read.*CenterCrop"):
            Loader(objects, batch_size=4, transforms=transforms)


def test_a_transform_that_is_not_ours_is_given_images_of_their_own_size(tmp_path):
    def corner(image):
        return image[..., :40, :40]

    def loaded(dataset):
        with penstock.torch.Loader(dataset, batch_size=10, transforms=[Resize(45), corner], shuffle=False) as loader:
            assert "whole" in repr(loader)
            return torch.cat([images for images, _ in loader])

    assert torch.equal(loaded(listed(folder(), tmp_path / "i.json")), loaded(folder()))


def first_pixels(dataset):
    return penstock.torch.Dataset(dataset, transforms=AUGMENT)[1][0].numpy()


def test_a_dataset_of_objects_goes_to_other_processes(photos):
    again = pickle.loads(pickle.dumps(photos))
    assert (again.digest, again.classes) == (photos.digest, photos.classes)
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        found = pool.submit(first_pixels, photos).result()
    assert np.array_equal(found, first_pixels(folder()))


def test_views_joins_and_resuming_know_which_objects_they_are(photos, tmp_path):
    view = photos.select(photos.labels("label") == 2)
    assert {sample.key.partition("/")[0] for sample in view} == {"class2"}
    joined = penstock.join([penstock.open(folder()), view])
    found = epoch_of(joined)
    assert len(found) == COUNT + len(view)
    assert_same({number: found[number] for number in range(COUNT)}, epoch_of(folder()))
    with pytest.raises(UsageError, match="cannot be joined"):
        penstock.join([photos, penstock.open(packed())])
    with Loader(photos, batch_size=4, transforms=AUGMENT) as loader:
        next(iter(loader))
        state = json.loads(json.dumps(loader.state_dict()))
    with Loader(photos, batch_size=4, transforms=AUGMENT) as loader:
        loader.load_state_dict(state)
        assert sum(len(batch.ids) for batch in loader) == COUNT - 4
    with (
        Loader(listed(folder(), tmp_path / "i.json"), batch_size=4, transforms=AUGMENT) as other,
        pytest.raises(PenstockError, match="dataset"),
    ):
        other.load_state_dict(state)


def test_the_digest_is_of_keys_sizes_labels_and_root(tmp_path):
    source = folders.classes(tmp_path / "photos", 4, per_class=2)
    keys = ["c0/000.JPEG", "c0/001.JPEG", "c1/002.JPEG"]
    digests = set()
    for names, classes in ((keys, None), (keys[::-1], None), (keys[:2], None), (keys, False)):
        (tmp_path / "i.json").write_text(json.dumps(names))
        digests.add(penstock.open(tmp_path / "i.json", root=source, classes=classes).digest)
    digests.add(penstock.open(tmp_path / "i.json", root=shutil.copytree(source, tmp_path / "copy")).digest)
    (source / keys[0]).write_bytes(folders.jpeg(99))
    digests.add(penstock.open(tmp_path / "i.json", root=source).digest)
    assert len(digests) == 6


def test_a_configuration_names_list_and_root(bucket, tmp_path):
    names = bucket.put(folders.classes(tmp_path / "photos", 2))
    bucket.store.write("index.json", json.dumps([f"{bucket.place}/{name}" for name in names]).encode())
    config = {
        "endpoint_url": bucket.access.endpoint,
        "bucket_name": bucket.bucket.removeprefix("s3://"),
        "index_file_download_url": f"{bucket.root}/index.json",
    }
    (tmp_path / "s3.json").write_text(json.dumps(config))
    dataset = penstock.open(access=penstock.Access(config=str(tmp_path / "s3.json")))
    assert [sample.fields["image"].data for sample in dataset] == [folders.jpeg(0), folders.jpeg(1)]
    with pytest.raises(UsageError, match="nothing to open"):
        penstock.open()


def test_what_does_not_go_with_a_list_is_refused(tmp_path):
    (tmp_path / "i.json").write_text('["a.jpg"]')
    with pytest.raises(UsageError, match="does not say where its objects are"):
        penstock.open(tmp_path / "i.json")
    with pytest.raises(UsageError, match="say classes, not labels"):
        penstock.open(tmp_path / "i.json", root=tmp_path, labels="labels.csv")
    with pytest.raises(UsageError, match="access is about object stores"):
        penstock.open(tmp_path / "i.json", root=tmp_path, access=penstock.Access())
    with pytest.raises(UsageError, match="root and classes are about indexes"):
        penstock.open(tmp_path, root=tmp_path)
