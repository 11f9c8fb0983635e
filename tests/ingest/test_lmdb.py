"""LMDB sources: every layout and every form, in place and packed, and what is missing or broken by name."""

import gzip
import io
import os
import pickle
import shutil

import lmdb
import numpy as np
import pytest
from PIL import Image

import penstock
from penstock.errors import SourceError, UsageError
from penstock.ingest.items import Ranges
from penstock.ingest.kind import Options
from penstock.ingest.kinds import kind_at, open_source
from penstock.storage.object import ObjectStore
from tests import folders, images, lmdbs, stores
from tests.ingest.conformance import CHECKS, Case, Made, name

COUNT = 12
JPEGS = lmdbs.jpegs(COUNT)
LABELS = [at % 3 for at in range(COUNT)]
FORMS = {"pickle": pickle.dumps, "messagepack": lmdbs.messagepack}


def read_all(source):
    (items,) = source.fields.values()
    return [items.read(position)[0] for position in range(len(source))]


@pytest.mark.parametrize("is_folder", [False, True])
@pytest.mark.parametrize("dumps", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("layout", [lmdbs.efficient, lmdbs.tensorpack])
def test_samples_are_in_the_order_of_their_numbers_in_place(tmp_path, layout, dumps, is_folder):
    path = layout(tmp_path / "x.lmdb", dumps=dumps, is_folder=is_folder)
    source = open_source(str(path))
    assert (source.kind, source.skipped, source.classes) == ("lmdb", (), None)
    assert [int(key) for key in source.keys] == list(range(COUNT))
    dataset = penstock.open(path)
    assert [sample.fields["image"].data for sample in dataset] == JPEGS == read_all(source)
    assert dataset.labels("label").tolist() == LABELS
    assert np.array_equal(dataset[4].image(), images.rgb(JPEGS[4]))


@pytest.mark.parametrize("version", ["pyarrow-0.11.1", "pyarrow-0.15.1", "pyarrow-10.0.1"])
def test_a_file_by_an_old_arrow_is_opened_without_it(tmp_path, version):
    values = lmdbs.golden(version)
    records = {b"0": "record", b"1": "array record", b"10": "record", b"__keys__": "keys", b"__len__": "length"}
    path = lmdbs.write(tmp_path / "x.lmdb", [(key, values[value]) for key, value in records.items()])
    dataset = penstock.open(path)
    jpeg = (lmdbs.GOLDEN / "small.jpg").read_bytes()
    assert [(sample.key, sample.fields["image"].data) for sample in dataset] == [("0", jpeg), ("1", jpeg), ("10", jpeg)]
    assert dataset.labels("label").tolist() == [7, 7, 7]
    assert dataset.lost == ()


@pytest.mark.parametrize("serialiser", ["pickle", "msgpack", "pyarrow"])
def test_a_file_by_tensorpack_itself_is_opened(tmp_path, serialiser):
    path = tmp_path / "x.lmdb"
    path.write_bytes(gzip.decompress((lmdbs.GOLDEN / f"tensorpack-{serialiser}.lmdb.gz").read_bytes()))
    dataset = penstock.open(path)
    jpeg = (lmdbs.GOLDEN / "small.jpg").read_bytes()
    assert [sample.fields["image"].data for sample in dataset] == [jpeg] * 3
    assert ([sample.key for sample in dataset], dataset.lost) == (["00000000", "00000001", "00000002"], ())
    assert dataset.labels("label").tolist() == [0, 1, 2]


def test_packing_keeps_the_pixels_and_is_sound(tmp_path):
    report = penstock.pack(lmdbs.tensorpack(tmp_path / "x.lmdb"), tmp_path / "x.pen", seed=None)
    assert (report.samples, report.outcomes) == (COUNT, {"tiled": COUNT})
    dataset = penstock.open(tmp_path / "x.pen")
    assert all(np.array_equal(dataset[at].image(), images.rgb(JPEGS[at])) for at in range(COUNT))
    assert dataset.labels("label").tolist() == LABELS
    assert penstock.verify(tmp_path / "x.pen").is_sound


def test_a_loader_reads_the_file_where_it_is(tmp_path):
    path = lmdbs.efficient(tmp_path / "x.lmdb")
    transforms = [penstock.transforms.Resize(24), penstock.transforms.CenterCrop(24)]
    with penstock.Loader(path, batch_size=5, transforms=transforms, seed=3) as loader:
        batches = list(loader)
    found = sorted(number for batch in batches for number in batch.ids.tolist())
    assert found == list(range(COUNT))
    assert all(batch.labels.tolist() == [LABELS[number] for number in batch.ids] for batch in batches)


def test_class_names_come_from_a_file(tmp_path):
    path = lmdbs.efficient(tmp_path / "x.lmdb")
    (tmp_path / "names.txt").write_text("cat\ndog\nemu\n")
    assert penstock.open(path, labels=tmp_path / "names.txt").classes == ("cat", "dog", "emu")
    (tmp_path / "names.txt").write_text("cow\ndog\nemu\n")
    assert penstock.open(path, labels=tmp_path / "names.txt").classes == ("cow", "dog", "emu")
    (tmp_path / "names.txt").write_text("cat\ndog\n")
    with pytest.raises(SourceError, match="labels that are no class: got 0 to 2, expected 0 to 1"):
        open_source(str(path), options=Options(labels=str(tmp_path / "names.txt")))
    with pytest.raises(UsageError, match="a source of kind lmdb has no masks"):
        open_source(str(path), options=Options(masks="masks"))


def test_records_may_be_images_alone_or_dicts_with_named_values(tmp_path):
    bare = lmdbs.write(tmp_path / "bare", [(b"c/%d.jpg" % at, data) for at, data in enumerate(JPEGS[:3])])
    source = open_source(str(bare))
    assert (source.keys, source.labels.column_names) == (["c/0", "c/1", "c/2"], [])
    assert source.fields["image"].suffixes == [".jpg"] * 3
    named = [(b"%d" % at, pickle.dumps({"image": JPEGS[at], "label": at, "text": f"é{at}"})) for at in range(3)]
    source = open_source(str(lmdbs.write(tmp_path / "named", named)))
    assert source.label_values() == {"label": [0, 1, 2], "text": ["é0", "é1", "é2"]}
    assert read_all(source) == JPEGS[:3]


def test_a_label_that_is_a_fraction_is_a_target(tmp_path):
    records = [(b"%d" % at, pickle.dumps((JPEGS[at], at / 4))) for at in range(3)]
    dataset = penstock.open(lmdbs.write(tmp_path / "x", records))
    assert dataset.labels("target").tolist() == [0.0, 0.25, 0.5]


def test_labels_that_are_text_are_numbered_in_sorted_order(tmp_path):
    records = [(b"%d" % at, pickle.dumps((JPEGS[at], name))) for at, name in enumerate(["dog", "cat", "dog"])]
    dataset = penstock.open(lmdbs.write(tmp_path / "x", records))
    assert (dataset.classes, dataset.labels("label").tolist()) == (("cat", "dog"), [1, 0, 1])


def test_among_images_a_value_that_is_none_is_named(tmp_path):
    records = [(b"image-%d" % at, JPEGS[at]) for at in range(3)] + [(b"label-0", b"text")]
    source = open_source(str(lmdbs.write(tmp_path / "x", records)))
    assert (len(source), [one.name for one in source.skipped]) == (3, ["label-0"])
    assert "the value is no image, as others are" in source.skipped[0].why


def test_caffe_s_images_are_opened_in_place(tmp_path):
    records = [(f"{at:08d}_{at}.jpg".encode(), lmdbs.datum(JPEGS[at], at - 1)) for at in range(4)]
    dataset = penstock.open(lmdbs.write(tmp_path / "x.lmdb", records))
    assert [sample.fields["image"].data for sample in dataset] == JPEGS[:4]
    assert dataset.labels("label").tolist() == [-1, 0, 1, 2]
    assert dataset[2].key == "00000002_2"


@pytest.mark.parametrize("channels", [1, 3])
def test_caffe_s_pixels_are_packed_as_png_and_not_opened_in_place(tmp_path, channels):
    pixels = [images.photo(20, 12, seed=at)[:, :, :channels] for at in range(3)]  # red first
    planes = [np.ascontiguousarray(one[:, :, ::-1].transpose(2, 0, 1)).tobytes() for one in pixels]  # blue first
    records = [(b"%08d" % at, lmdbs.datum(data, at, (channels, 12, 20))) for at, data in enumerate(planes)]
    path = lmdbs.write(tmp_path / "x.lmdb", records)
    with pytest.raises(UsageError, match=r"not in the file as they are, so they cannot be opened in place"):
        penstock.open(path)
    penstock.pack(path, tmp_path / "x.pen", seed=None)
    dataset = penstock.open(tmp_path / "x.pen")
    found = [np.asarray(Image.open(io.BytesIO(sample.fields["image"].data))) for sample in dataset]
    assert all(np.array_equal(one.reshape(12, 20, channels), want) for one, want in zip(found, pixels, strict=True))
    assert dataset[0].fields["image"].format == "png"


def test_bytes_that_an_old_pickle_holds_as_text_can_be_packed(tmp_path):
    path = lmdbs.efficient(tmp_path / "x.lmdb", dumps=lambda value: pickle.dumps(value, 2))
    with pytest.raises(UsageError, match="cannot be opened in place"):
        penstock.open(path)
    source = open_source(str(path))
    assert read_all(source) == JPEGS
    assert read_all(pickle.loads(pickle.dumps(source))) == JPEGS
    penstock.pack(path, tmp_path / "x.pen", keep_bytes=True, seed=None)
    assert [sample.fields["image"].data for sample in penstock.open(tmp_path / "x.pen")] == JPEGS


@pytest.mark.parametrize("layout", [lmdbs.efficient, lmdbs.tensorpack])
def test_records_that_the_file_promises_and_lacks_are_named(tmp_path, layout):
    path = layout(tmp_path / "x.lmdb")
    with lmdb.open(str(path), subdir=False, lock=False) as environment, environment.begin(write=True) as writing:
        keys = [key for key, _ in writing.cursor() if key.isdigit()]
        lost = [keys[3], keys[7]]
        assert all(writing.delete(key) for key in lost)
    with pytest.raises(SourceError, match="promises this record, but does not have it"):
        penstock.pack(path, tmp_path / "x.pen")
    report = penstock.pack(path, tmp_path / "x.pen", on_error="skip")
    assert (report.samples, sorted(one.name for one in report.skipped)) == (COUNT - 2, sorted(map(bytes.decode, lost)))
    dataset = penstock.open(path)
    assert (len(dataset), len(dataset.lost)) == (COUNT - 2, 2)
    with pytest.raises(SourceError, match="promises this record"):
        next(iter(penstock.Loader(path, batch_size=2)))


def test_a_length_alone_promises_keys_and_a_wrong_one_is_told(tmp_path):
    padded = [(b"%04d" % at, pickle.dumps((JPEGS[at], at))) for at in (0, 2)]
    path = lmdbs.write(tmp_path / "padded", [*padded, (b"__len__", pickle.dumps(3))])
    assert [one.name for one in open_source(str(path)).skipped] == ["0001"]
    values = [(str(at).encode(), pickle.dumps((JPEGS[at], at))) for at in (0, 1, 3)]
    path = lmdbs.write(tmp_path / "a", [*values, (b"__len__", pickle.dumps(4))])
    assert [one.name for one in open_source(str(path)).skipped] == ["2"]
    keys = pickle.dumps([b"0", b"1", b"3"])
    path = lmdbs.write(tmp_path / "b", [*values, (b"__len__", pickle.dumps(4)), (b"__keys__", keys)])
    assert [str(one) for one in open_source(str(path)).skipped] == ["__len__: broken: it says 4, but __keys__ names 3"]
    path = lmdbs.write(tmp_path / "d", [*values, (b"__len__", pickle.dumps("x")), (b"__keys__", pickle.dumps(7))])
    assert sorted(map(str, open_source(str(path)).skipped)) == [
        "__keys__: broken: it is no list of keys",
        "__len__: broken: it is no number",
    ]
    path = lmdbs.write(tmp_path / "e", [*values, (b"__keys__", b"\x80\x04cut")])
    (broken,) = open_source(str(path)).skipped
    assert str(broken).startswith("__keys__: broken: a line of the pickle does not end")
    path = lmdbs.write(tmp_path / "c", [*values, (b"__len__", pickle.dumps(10**12))])
    with pytest.raises(SourceError, match="most of the file is missing"):
        open_source(str(path))


def test_a_broken_record_is_named_and_code_in_one_is_never_run(tmp_path):
    class Attack:
        def __reduce__(self):
            return shutil.rmtree, (str(tmp_path),)

    values = [(b"%d" % at, pickle.dumps((JPEGS[at], at))) for at in range(4)]
    values[1] = (b"1", pickle.dumps((JPEGS[1], Attack())))
    values[2] = (b"2", pickle.dumps((b"no image", 2)))
    path = lmdbs.write(tmp_path / "x", values)
    found = {one.name: str(one) for one in open_source(str(path)).skipped}
    assert "the pickle asks for code, which is refused: got shutil.rmtree" in found["1"]
    assert "the record has no encoded image in it" in found["2"]
    with pytest.raises(SourceError, match="asks for code, which is refused"):
        penstock.pack(path, tmp_path / "x.pen")
    assert penstock.pack(path, tmp_path / "x.pen", on_error="skip").samples == 2


def test_a_value_behind_the_file_s_end_is_named(tmp_path):
    path = lmdbs.write(tmp_path / "x", [(b"%d" % at, JPEGS[0]) for at in range(8)])  # each in overflow pages
    values = penstock.open(path).column("image")
    last = int(np.argmax(values.offset))
    data = path.read_bytes()
    whole = data[: int(values.offset[last])]
    tree = data[int(values.offset[last] + values.length[last]) :]
    assert len(tree) <= 4096  # nothing else lies behind it
    path.write_bytes(whole)
    source = open_source(str(path))
    assert [(one.name, one.why.partition(",")[0]) for one in source.skipped] == [
        (str(last), "the file ends before its bytes")
    ]


def test_a_file_in_which_nothing_is_an_image_says_what_it_holds(tmp_path):
    path = lmdbs.write(tmp_path / "x", [(b"a", b"some text"), (b"b", b"more text")])
    with pytest.raises(SourceError, match=r"of no known form: got it begins 73 6f 6d 65 .*sample a"):
        open_source(str(path))
    with pytest.raises(SourceError, match="no images in this file"):
        open_source(str(lmdbs.write(tmp_path / "empty", [])))


def test_the_digest_changes_with_the_data_and_sources_travel(tmp_path):
    path = lmdbs.efficient(tmp_path / "x.lmdb")
    source = open_source(str(path))
    copy = pickle.loads(pickle.dumps(source))
    assert (copy.digest(), read_all(copy)) == (source.digest(), JPEGS)
    assert isinstance(copy.fields["image"], Ranges)
    with lmdb.open(str(path), subdir=False, lock=False) as environment, environment.begin(write=True) as writing:
        writing.put(b"3", pickle.dumps((folders.jpeg(99), 0)))
    assert open_source(str(path)).digest() != source.digest()
    assert penstock.open(path)[3].fields["image"].data == folders.jpeg(99)


def _change(folder):
    path = folder / "x.lmdb"
    with lmdb.open(str(path), subdir=False, lock=False) as environment, environment.begin(write=True) as writing:
        assert writing.put(b"3", pickle.dumps((folders.jpeg(99), 0)))


def _lose(folder):
    path = folder / "x.lmdb"
    with lmdb.open(str(path), subdir=False, lock=False) as environment, environment.begin(write=True) as writing:
        assert writing.delete(b"5")
    return "5"


def _made(folder):
    folder.mkdir(parents=True, exist_ok=True)
    path = lmdbs.efficient(folder / "x.lmdb")
    return Made(str(path), [f"{at}" for at in range(COUNT)], [[data] for data in JPEGS], {"label": LABELS})


@pytest.mark.parametrize("check", CHECKS, ids=name)
def test_a_source_of_this_kind(check, tmp_path):
    check(Case("lmdb", _made, _change, _lose), tmp_path)


def test_a_file_is_known_by_its_beginning_and_not_by_its_name(tmp_path):
    assert kind_at(str(lmdbs.efficient(tmp_path / "train.bin"))).name == "lmdb"
    (tmp_path / "x.lmdb").write_bytes(b"no database")
    with pytest.raises(UsageError, match="no dataset here"):
        kind_at(str(tmp_path / "x.lmdb"))


@pytest.mark.parametrize("is_folder", [False, True])
def test_a_file_in_a_bucket_is_walked_and_read_there(tmp_path, seaweedfs, monkeypatch, is_folder):
    stores.allow(monkeypatch, seaweedfs)
    path = lmdbs.efficient(tmp_path / "x.lmdb", is_folder=is_folder)
    url = stores.uploaded(seaweedfs, path if is_folder else tmp_path, f"test_lmdb/{is_folder}/x.lmdb")
    url = url if is_folder else f"{url}/x.lmdb"
    dataset = penstock.open(url, access=stores.access(seaweedfs.endpoint))
    assert [sample.fields["image"].data for sample in dataset] == JPEGS
    assert dataset.labels("label").tolist() == LABELS


def test_a_file_on_a_web_server_is_walked_and_read_there(nginx):
    folder = nginx.folder / "test_lmdb"
    folder.mkdir()
    lmdbs.tensorpack(folder / "x.lmdb")
    dataset = penstock.open(f"{nginx.endpoint}/test_lmdb/x.lmdb")
    assert [sample.fields["image"].data for sample in dataset] == JPEGS
    with pytest.raises(UsageError, match="there is no LMDB file"):
        penstock.open(f"{nginx.endpoint}/test_lmdb/y.lmdb")


@pytest.mark.parametrize("server", ["seaweedfs", "nginx"])
def test_a_file_in_a_store_that_was_replaced_by_one_of_the_same_size_is_walked_again(
    tmp_path, request, monkeypatch, server
):
    name, server = server, request.getfixturevalue(server)
    stores.allow(monkeypatch, request.getfixturevalue("seaweedfs"))
    access = stores.access(server.endpoint) if name == "seaweedfs" else None
    url = f"s3://{server.bucket}/replaced" if name == "seaweedfs" else f"{server.endpoint}/replaced"

    def put(path, modified):
        if name == "seaweedfs":
            ObjectStore(url, access).write("x.lmdb", path.read_bytes())
        else:
            (server.folder / "replaced").mkdir(exist_ok=True)
            shutil.copy(path, server.folder / "replaced/x.lmdb")
            os.utime(server.folder / "replaced/x.lmdb", (modified, modified))
        return penstock.open(f"{url}/x.lmdb", access=access).labels("label").tolist()

    first = lmdbs.write(tmp_path / "1.lmdb", [(b"%d" % at, pickle.dumps((JPEGS[0], at))) for at in range(3)])
    second = lmdbs.write(tmp_path / "2.lmdb", [(b"%d" % at, pickle.dumps((JPEGS[0], 9 - at))) for at in range(3)])
    assert first.stat().st_size == second.stat().st_size
    assert (put(first, 1_000_000_000), put(second, 1_000_000_001)) == ([0, 1, 2], [9, 8, 7])
