"""WebDataset tars: what the real webdataset wrote, in place, packed, here and in stores; what is wrong by name."""

import gc
import pickle
import shutil
import tarfile

import numpy as np
import pytest
import webdataset

import penstock
from penstock.errors import SourceError, StorageError, UsageError
from penstock.ingest.kind import Options
from penstock.ingest.kinds import kind_at, open_source
from tests import folders, images, stores, webtars
from tests.ingest.conformance import CHECKS, Case, Made, name

COUNT = 10
JPEGS = [folders.jpeg(at) for at in range(COUNT)]
KEYS = [f"photos/{at:05d}" for at in range(COUNT)]
LABELS = [at % 3 for at in range(COUNT)]


def bytes_of(dataset):
    return [sample.fields["image"].data for sample in dataset]


@pytest.mark.parametrize("pattern", ["", "x-{000000..000002}.tar", "x-*.tar"])
def test_a_folder_or_a_pattern_of_tars_is_opened_in_place(tmp_path, pattern):
    path = webtars.shards(tmp_path / "tars", COUNT) / pattern
    dataset = penstock.open(path)
    assert ([sample.key for sample in dataset], bytes_of(dataset)) == (KEYS, JPEGS)
    assert dataset.labels("label").tolist() == LABELS
    assert (dataset.file_count, dataset.lost) == (3, ())


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # webdataset leaves its files to the garbage collector
def test_samples_are_those_that_webdataset_reads(tmp_path):
    path = webtars.write(tmp_path / "x.tar", [webtars.sample(at, txt=f"é{at}") for at in range(COUNT)])
    theirs = list(webdataset.WebDataset(str(path), shardshuffle=False, empty_check=False))
    gc.collect()
    ours = penstock.open(path)
    assert [one["__key__"] for one in theirs] == [sample.key for sample in ours]
    assert [one["jpg"] for one in theirs] == bytes_of(ours)
    assert [one["txt"].decode() for one in theirs] == ours.labels("txt").to_pylist()
    assert np.array_equal(ours[3].image(), images.rgb(JPEGS[3]))


def test_packing_keeps_pixels_labels_and_names_and_is_sound(tmp_path):
    folder = webtars.shards(tmp_path / "tars", COUNT)
    report = penstock.pack(folder, tmp_path / "x.pen", seed=None)
    assert (report.samples, report.outcomes) == (COUNT, {"tiled": COUNT})
    dataset = penstock.open(tmp_path / "x.pen")
    assert all(np.array_equal(dataset[at].image(), images.rgb(JPEGS[at])) for at in range(COUNT))
    assert ([sample.key for sample in dataset], dataset.labels("label").tolist()) == (KEYS, LABELS)
    assert penstock.verify(tmp_path / "x.pen").is_sound


def test_a_loader_reads_tars_where_they_are(tmp_path):
    folder = webtars.shards(tmp_path / "tars", COUNT)
    transforms = [penstock.transforms.Resize(20), penstock.transforms.CenterCrop(20)]
    with penstock.Loader(folder, batch_size=4, transforms=transforms, seed=3) as loader:
        batches = list(loader)
    assert sorted(number for batch in batches for number in batch.ids.tolist()) == list(range(COUNT))
    assert all(batch.labels.tolist() == [LABELS[number] for number in batch.ids] for batch in batches)


def test_a_packed_dataset_s_own_shards_are_such_tars(tmp_path):
    penstock.pack(folders.classes(tmp_path / "photos"), tmp_path / "x.pen", keep_bytes=True, seed=None)
    dataset, packed = penstock.open(tmp_path / "x.pen" / "shards"), penstock.open(tmp_path / "x.pen")
    assert bytes_of(dataset) == bytes_of(packed)
    assert dataset.labels("label").tolist() == packed.labels("label").tolist()


def test_masks_are_a_field_of_their_own(tmp_path):
    masks = [images.png(images.photo(40, 24, seed=at)[:, :, 0] // 64) for at in range(COUNT)]
    samples = [{**webtars.sample(at), "mask.png": masks[at]} for at in range(COUNT)]
    dataset = penstock.open(webtars.write(tmp_path / "x.tar", samples))
    assert dataset.fields == ("image", "mask")
    assert [sample.fields["mask"].data for sample in dataset] == masks
    assert np.array_equal(dataset[2].mask()[:, :, 0], images.photo(40, 24, seed=2)[:, :, 0] // 64)
    penstock.pack(tmp_path / "x.tar", tmp_path / "x.pen")
    assert penstock.verify(tmp_path / "x.pen").is_sound


def test_members_of_json_are_columns_where_they_are_plain(tmp_path):
    rows = [{"width": at, "score": at / 4, "ok": True, "url": f"u{at}", "box": [1, 2], "key": "no"} for at in range(3)]
    rows[1] |= {"sometimes": 5, "url": None}
    rows[2] |= {"sometimes": 7}
    source = open_source(
        str(webtars.write(tmp_path / "x.tar", [webtars.sample(at, json=row) for at, row in enumerate(rows)]))
    )
    found = source.label_values()
    assert np.isnan(found.pop("sometimes")[0])
    assert found == {
        "label": [0, 1, 2],
        "width": [0, 1, 2],
        "score": [0.0, 0.25, 0.5],
        "ok": [True] * 3,
        "url": ["u0", None, "u2"],
    }
    assert {one.name: one.why for one in source.skipped} == {
        "label box": "its values are no plain ones: list",
        "label key": "no label can have this name",
    }
    assert all(one.is_expected for one in source.skipped)


def test_an_image_called_clip_is_no_clip(tmp_path):
    samples = [{**webtars.sample(at), "clip.jpg": JPEGS[at]} for at in range(2)]
    assert penstock.open(webtars.write(tmp_path / "x.tar", samples)).fields == ("image", "clip_image")


def test_images_that_few_samples_have_are_passed_over(tmp_path):
    samples = [webtars.sample(at) for at in range(5)]
    samples[2]["thumb.jpg"] = JPEGS[9]
    source = open_source(str(webtars.write(tmp_path / "x.tar", samples)))
    assert (list(source.fields), len(source)) == (["image"], 5)
    assert [str(one) for one in source.skipped] == ["images called thumb: not an image: only 1 samples have one"]


def test_tars_with_the_same_keys_are_told_apart_by_their_names(tmp_path):
    for tar in ("a", "b"):
        webtars.write(tmp_path / f"{tar}.tar", [webtars.sample(at) for at in range(2)])
    assert open_source(str(tmp_path)).keys == ["a/photos/00000", "a/photos/00001", "b/photos/00000", "b/photos/00001"]


@pytest.mark.parametrize("form", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_long_names_and_other_alphabets_are_read(tmp_path, form):
    stem = "é" * 30 + "/" + "n" * 150
    path = webtars.members(tmp_path / "x.tar", [(f"{stem}.JPG", JPEGS[0]), (f"{stem}.cls", b"2\n")], form)
    source = open_source(str(path))
    assert (source.keys, source.fields["image"].suffixes) == ([stem], [".JPG"])
    assert source.label_values() == {"label": [2]}


def test_what_is_no_sample_is_named_with_the_reason(tmp_path):
    link = tarfile.TarInfo("l.jpg")
    link.type, link.linkname = tarfile.SYMTYPE, "a.jpg"
    folder = tarfile.TarInfo("folder")
    folder.type = tarfile.DIRTYPE
    jpeg = JPEGS[0]
    path = webtars.members(
        tmp_path / "x.tar",
        [
            (folder, b""),
            ("./a.jpg", jpeg),
            ("./a.cls", b"1"),
            ("README", b"hello"),
            ("__meta__/x.json", b"{}"),
            ("._a.jpg", b"of a Macintosh"),
            ("b.cls", b"1"),
            ("c.jpg", jpeg),
            ("d.jpg", jpeg),
            ("d.cls", b"dog"),
            ("e.jpg", jpeg),
            ("e.jpeg", jpeg),
            ("f.jpg", jpeg),
            ("f.JPG", jpeg),
            ("f.cls", b"0"),
            (link, b""),
            ("../g.jpg", jpeg),
            ("a.png", folders.png()),
            ("h.jpg", jpeg),
            ("h.cls", b"2"),
            ("h.npy", b"numbers"),
            ("i.jpg", jpeg),
            ("i.cls", b"2"),
            ("i.json", b"{"),
        ],
    )
    source = open_source(str(path))
    assert source.keys == ["a", "f", "h"]
    found = {one.name.removeprefix("x.tar: "): f"{one.outcome}: {one.why}" for one in source.skipped}
    assert found.pop("d").startswith("broken: its .cls is no whole number: got b'dog'")
    assert found.pop("i").startswith("broken: its .json cannot be read: got b'{'")
    assert found == {
        "b": "not an image: it has no image",
        "c": "unlabelled: it has no .cls, as others have",
        "e": "broken: it has two images that are its image",
        "f.JPG": "broken: its sample has two members of this extension",
        "l.jpg": "unreadable: it is a symbolic link, not a file",
        "../g.jpg": "unreadable: its name leads out of the archive",
        "a": "broken: its members do not follow one another: it was there before",
        "members without a key and an extension": "not an image: 3 of them",
        "members in .npy": "not an image: 1 of them",
    }
    assert len(penstock.open(path).lost) == 9
    with pytest.raises(SourceError, match="mend or remove"):
        penstock.pack(path, tmp_path / "x.pen")
    assert penstock.pack(path, tmp_path / "x.pen", on_error="skip").samples == 3


def test_a_tar_that_was_cut_short_keeps_what_is_whole_and_says_where_it_ends(tmp_path):
    path = webtars.write(tmp_path / "x.tar", [webtars.sample(at) for at in range(4)])
    whole, data = penstock.open(path).column("image"), path.read_bytes()
    start, stop = int(whole.offset[2]), int(whole.offset[2] + whole.length[2])
    path.write_bytes(data[: start + 100])
    source = open_source(str(path))
    assert source.keys == KEYS[:2]
    first, second = map(str, source.skipped)
    assert first == "x.tar: photos/00002: broken: the tar breaks off behind its first members"
    assert second.startswith("x.tar: broken: the tar is cut short in a member: ")
    assert f"bytes {start}-{stop}" in second
    with pytest.raises(SourceError, match="cut short in a member"):
        next(iter(penstock.Loader(path, batch_size=2)))
    path.write_bytes(data[:100])
    with pytest.raises(SourceError, match=r"no images in these tars: got .*cut short in a header \(bytes 0-100\)"):
        open_source(str(path))


def test_a_tar_without_its_end_keeps_all_samples_and_is_told_of(tmp_path):
    path = webtars.members(tmp_path / "x.tar", [("a.jpg", JPEGS[0]), ("b.jpg", JPEGS[1])])
    data = path.read_bytes()
    path.write_bytes(data[: len(data.rstrip(b"\0")) // 512 * 512 + 512])
    source = open_source(str(path))
    assert source.keys == ["a", "b"]
    assert ["ends without its closing block" in str(one) for one in source.skipped] == [True]


def test_compressed_tars_are_refused_with_what_to_do(tmp_path):
    path = webtars.write(tmp_path / "x.tar", [webtars.sample(0)])
    shutil.make_archive(str(tmp_path / "y"), "gztar", tmp_path, "x.tar")
    for tar in ("y.tar.gz", "z.tar"):
        if tar == "z.tar":
            (tmp_path / "y.tar.gz").rename(tmp_path / tar)
        with pytest.raises(UsageError, match=r"the tar is compressed(.|\n)*decompress it first"):
            penstock.open(tmp_path / tar)
    assert path.exists()


def test_a_missing_tar_of_a_pattern_is_an_error(tmp_path):
    webtars.shards(tmp_path, COUNT)
    with pytest.raises(StorageError, match=r"1 of the 4 tars are not there: got no x-000003\.tar"):
        penstock.open(tmp_path / "x-{000000..000003}.tar")
    with pytest.raises(UsageError, match=r"nothing fits this pattern"):
        penstock.open(tmp_path / "y-*.tar")
    with pytest.raises(UsageError, match="a tar is named twice"):
        penstock.open(tmp_path / "x-{000000,000000}.tar")


def test_tars_are_found_by_names_relative_to_where_one_is(tmp_path, monkeypatch):
    folder = webtars.shards(tmp_path / "tars", COUNT)
    webtars.write(tmp_path / "y-000000.tar", [webtars.sample(COUNT)])
    monkeypatch.chdir(folder)
    for pattern in ("x-*.tar", "x-{000000..000002}.tar", "./x-*.tar", "../tars/x-*.tar", "."):
        assert bytes_of(penstock.open(pattern)) == JPEGS
    assert bytes_of(penstock.open("x-000001.tar")) == JPEGS[4:8]
    monkeypatch.chdir(tmp_path)
    assert len(penstock.open("{tars/x,y}-000000.tar")) == 5


def test_options_are_class_names_alone(tmp_path):
    folder = webtars.shards(tmp_path / "tars", COUNT)
    (tmp_path / "names").write_text("cat\ndog\nemu\n")
    assert penstock.open(folder, labels=tmp_path / "names").classes == ("cat", "dog", "emu")
    with pytest.raises(UsageError, match="a source of kind webdataset has no root"):
        open_source(str(folder), options=Options(root="x"))


def test_the_index_is_kept_until_a_tar_changes_and_sources_travel(tmp_path):
    path = webtars.write(tmp_path / "x.tar", [webtars.sample(at) for at in range(3)])
    source = open_source(str(path))
    copy = pickle.loads(pickle.dumps(source))
    assert (copy.digest(), copy.fields["image"].read(2)) == (source.digest(), [JPEGS[2]])
    dataset = pickle.loads(pickle.dumps(penstock.open(path)))
    assert bytes_of(dataset) == JPEGS[:3]
    webtars.write(path, [webtars.sample(at) for at in range(1, 5)])
    assert open_source(str(path)).digest() != source.digest()
    assert bytes_of(penstock.open(path)) == JPEGS[1:5]


def _made(folder):
    path = webtars.shards(folder / "tars", COUNT)
    return Made(str(path), KEYS, [[data] for data in JPEGS], {"label": LABELS})


def _change(folder):
    samples = [webtars.sample(at) for at in range(4)]
    samples[2]["jpg"] = folders.jpeg(99)
    webtars.write(folder / "tars" / "x-000000.tar", samples)


def _lose(folder):
    samples = [webtars.sample(at) for at in range(4)]
    del samples[1]["jpg"]
    webtars.write(folder / "tars" / "x-000000.tar", samples)
    return "x-000000.tar: photos/00001"


@pytest.mark.parametrize("check", CHECKS, ids=name)
def test_a_source_of_this_kind(check, tmp_path):
    check(Case("webdataset", _made, _change, _lose), tmp_path)


def test_a_folder_of_images_that_has_a_tar_in_it_is_one_of_images(tmp_path):
    photos = folders.classes(tmp_path / "photos")
    webtars.write(photos / "x.tar", [webtars.sample(0)])
    assert kind_at(str(photos)).name == "image-folder"


def test_tars_in_a_bucket_are_walked_and_read_there(tmp_path, seaweedfs, monkeypatch):
    stores.allow(monkeypatch, seaweedfs)
    folder = webtars.shards(tmp_path / "tars", COUNT)
    access = stores.access(seaweedfs.endpoint)
    url = stores.uploaded(seaweedfs, folder, "test_web_tars/tars")
    for pattern in ("x-{000000..000002}.tar", "x-*.tar"):
        dataset = penstock.open(f"{url}/{pattern}", access=access)
        assert (bytes_of(dataset), dataset.labels("label").tolist()) == (JPEGS, LABELS)
    penstock.pack(f"{url}/x-*.tar", tmp_path / "x.pen", keep_bytes=True, seed=None, access=access)
    assert bytes_of(penstock.open(tmp_path / "x.pen")) == JPEGS
    with pytest.raises(StorageError, match=r"1 of the 4 tars are not there"):
        penstock.open(f"{url}/x-{{000000..000003}}.tar", access=access)


def test_what_is_loaded_from_a_bucket_stays_in_a_cache(tmp_path, seaweedfs, monkeypatch):
    stores.allow(monkeypatch, seaweedfs)
    url = stores.uploaded(seaweedfs, webtars.shards(tmp_path / "tars", COUNT), "test_web_tars/cached")
    opened = penstock.open(f"{url}/x-*.tar", access=stores.access(seaweedfs.endpoint), cache=tmp_path / "cache")
    transforms = [penstock.transforms.Resize(20), penstock.transforms.CenterCrop(20)]
    with penstock.Loader(opened, batch_size=5, transforms=transforms, seed=3) as loader:
        first, second = list(loader), list(loader)
        (cached,) = loader.statistics().caches
    assert sorted(number for batch in first + second for number in batch.ids.tolist()) == sorted([*range(COUNT)] * 2)
    assert cached.hit_bytes >= sum(map(len, JPEGS))


def test_tars_on_a_web_server_are_walked_and_read_there(tmp_path, nginx):
    webtars.shards(nginx.folder / "test_web_tars", COUNT)
    dataset = penstock.open(f"{nginx.endpoint}/test_web_tars/x-{{000000..000002}}.tar")
    assert (bytes_of(dataset), dataset.labels("label").tolist()) == (JPEGS, LABELS)
