"""GulpIO's directories: what GulpIO2 wrote is read as GulpIO2 reads it, and what does not fit is named."""

import json
import os
import pickle

import gulpio2
import numpy as np
import pytest

import penstock
from penstock.errors import SourceError
from penstock.ingest.kind import Options
from penstock.ingest.kinds import kind_at, open_source
from penstock.transforms import ClipSample, RandomResizedCrop
from tests import gulps, images, objects
from tests.ingest.conformance import CHECKS, Case, Made, name

ITEMS = range(7)
CLASSES = tuple(sorted(gulps.LABELS))


def said_of(folder):
    """What must come out, by GulpIO2's own reading."""
    found = gulps.read_by_gulpio2(folder)
    said = [said for _, said in found.values()]
    labels = {"label": [one["idx"] for one in said], "take": [one["take"] for one in said]}
    return Made(str(folder), list(found), [frames for frames, _ in found.values()], labels, CLASSES)


def version_2(root):
    return said_of(gulps.written_by_gulpio2(root, ITEMS, 3))


def version_1(root):
    return said_of(gulps.version_1(root, ITEMS, 3))


def stills(root):
    return said_of(gulps.written_by_gulpio2(root, ITEMS, 3, frames=1))


def change(root):
    """Gulp the last item anew, one frame shorter."""
    meta = json.loads((root / "meta_2.gmeta").read_text())
    item = meta["106"]
    start, zeros, length = item["frame_info"][-1]
    item["frame_info"][-1] = [start, zeros, length - 4]
    (root / "meta_2.gmeta").write_text(json.dumps(meta))
    os.truncate(root / "data_2.gulp", start + length - 4)


def lose(root):
    """Cut the data off inside the last item."""
    os.truncate(root / "data_2.gulp", (root / "data_2.gulp").stat().st_size - 40)
    return "data_2.gulp: 106"


@pytest.mark.parametrize("made", [version_1, version_2, stills])
@pytest.mark.parametrize("check", CHECKS, ids=name)
def test_a_directory_of_gulpio_is_a_source_like_any_other(check, made, tmp_path):
    check(Case("gulp", made, change, lose), tmp_path)


def meta_of(folder, number=0):
    return json.loads((folder / f"meta_{number}.gmeta").read_text())


def write_meta(folder, meta, number=0):
    (folder / f"meta_{number}.gmeta").write_text(json.dumps(meta))


def skipped(folder):
    return {item.name: item.why for item in open_source(str(folder)).skipped}


def test_chunks_come_in_the_order_of_their_names_as_with_gulpio(tmp_path):
    gulps.written_by_gulpio2(tmp_path, range(12), 1)
    source = open_source(str(tmp_path))
    assert source.keys == list(gulps.read_by_gulpio2(tmp_path))
    assert source.keys[:4] == ["100", "101", "110", "111"]  # data_0, data_1, data_10, data_11, data_2, …


def test_an_id_that_is_a_files_name_gives_its_suffix_to_the_index(tmp_path):
    gulps.written_by_gulpio2(tmp_path, range(3), 3, frames=1)
    write_meta(tmp_path, {f"cat-{id_}.jpg": item for id_, item in meta_of(tmp_path).items()})
    source = open_source(str(tmp_path))
    assert source.keys == ["cat-100", "cat-101", "cat-102"]
    assert source.fields["image"].suffixes == [".jpg"] * 3


def test_without_a_file_of_labels_classes_are_sorted(tmp_path):
    gulps.written_by_gulpio2(tmp_path, range(2), 2)  # two of the three labels
    (tmp_path / "label2idx.json").unlink()
    source = open_source(str(tmp_path))
    assert source.classes == ("Stop Sign", "Swiping Left")
    assert source.label_values() == {"label": [1, 0], "take": [0, 1], "idx": [2, 1]}  # idx says something else here


def test_a_file_of_names_numbers_the_classes_and_a_member_can_be_chosen(tmp_path):
    gulps.written_by_gulpio2(tmp_path / "g", range(3), 3)
    (tmp_path / "names.txt").write_text("\n".join(gulps.LABELS))
    source = open_source(str(tmp_path / "g"), options=Options(labels=str(tmp_path / "names.txt")))
    assert (source.classes, source.label_values()["label"]) == (gulps.LABELS, [0, 1, 2])
    meta = meta_of(tmp_path / "g")
    for number, item in enumerate(meta.values()):
        item["meta_data"] = [{"subset": "training", "annotations": {"label": "ab"[number % 2], "segment": [0, 9.5]}}]
    write_meta(tmp_path / "g", meta)
    (tmp_path / "g" / "label2idx.json").unlink()
    source = open_source(str(tmp_path / "g"), options=Options(label_name="annotations.label"))
    assert (source.classes, source.label_values()["label"]) == (("a", "b"), [0, 1, 0])
    assert source.label_values()["subset"] == ["training"] * 3
    assert [(item.name, item.is_expected) for item in source.skipped] == [("label annotations", True)]  # said once
    with pytest.raises(SourceError, match="no item has this label"):
        open_source(str(tmp_path / "g"), options=Options(label_name="class"))


def test_a_file_of_names_that_has_changed_makes_the_index_anew(tmp_path):
    gulps.written_by_gulpio2(tmp_path / "g", range(3), 3)
    for names in (gulps.LABELS, gulps.LABELS[::-1]):
        (tmp_path / "names.txt").write_text("\n".join(names) + "\n" * names.index("Swiping Left"))
        dataset = penstock.open(tmp_path / "g", labels=tmp_path / "names.txt")
        assert (dataset.classes, dataset.labels("label")[0]) == (names, names.index("Swiping Left"))


def test_a_label_that_the_file_of_labels_lacks_is_reported_and_a_broken_file_is_named(tmp_path):
    gulps.written_by_gulpio2(tmp_path, range(3), 3)
    (tmp_path / "label2idx.json").write_text('{"Stop Sign": 0, "Swiping Left": 1}')
    assert skipped(tmp_path) == {"data_0.gulp: 102": "label2idx.json does not have its label 'No gesture'"}
    for broken in ('{"Stop Sign": 0, "Swiping Left": 2}', '["Stop Sign"]', '{"Stop Sign": true}'):
        (tmp_path / "label2idx.json").write_text(broken)
        with pytest.raises(SourceError, match="not numbered one by one"):
            open_source(str(tmp_path))
    (tmp_path / "label2idx.json").write_text('{"Stop Si')
    with pytest.raises(SourceError, match="the labels are not JSON"):
        open_source(str(tmp_path))


def test_data_without_a_meta_and_a_meta_without_data_are_named(tmp_path):
    gulps.written_by_gulpio2(tmp_path, range(6), 2)
    (tmp_path / "meta_0.gmeta").unlink()
    (tmp_path / "data_1.gulp").unlink()
    assert open_source(str(tmp_path)).keys == ["104", "105"]
    assert skipped(tmp_path) == {
        "data_0.gulp": "no meta has the number 0: nothing says what is in it",
        "meta_1.gmeta": "no data has the number 1: its items are lost",
    }


def test_names_are_paired_by_number_and_two_of_one_number_are_refused(tmp_path):
    gulps.written_by_gulpio2(tmp_path, range(4), 2)
    (tmp_path / "meta_1.gmeta").rename(tmp_path / "meta_01.gmeta")
    assert sorted(open_source(str(tmp_path)).keys) == ["100", "101", "102", "103"]
    (tmp_path / "data.gulp").write_bytes(b"")
    assert skipped(tmp_path) == {"data.gulp": "its name has no number"}
    (tmp_path / "data_001.gulp").write_bytes(b"")
    with pytest.raises(SourceError, match=r"two files have one number: got data_001\.gulp and data_1\.gulp"):
        open_source(str(tmp_path))


def test_what_a_killed_run_left_is_counted(tmp_path):
    gulps.written_by_gulpio2(tmp_path, range(6), 2)
    with (tmp_path / "data_0.gulp").open("ab") as file:
        file.write(images.jpeg(gulps.pixels(9, 9)))
    spare = len(images.jpeg(gulps.pixels(9, 9)))
    (tmp_path / "meta_1.gmeta").write_bytes(b"")
    (tmp_path / "data_2.gulp").write_bytes(b"")
    (tmp_path / "meta_2.gmeta").write_text("{}")
    assert skipped(tmp_path) == {
        "data_0.gulp": f"{spare} bytes in it are of no item: was a run killed?",
        "meta_1.gmeta": "the meta is empty; the items in data_1.gulp are lost",
        "data_2.gulp": "neither it nor its meta holds an item",
    }


def test_an_id_in_two_chunks_or_twice_in_one_is_taken_once_or_not_at_all(tmp_path):
    gulps.written_by_gulpio2(tmp_path, range(4), 2)
    gulps.written_by_gulpio2(tmp_path, [1], 1)
    source = open_source(str(tmp_path))
    assert source.keys == ["100", "101", "102", "103"]
    assert skipped(tmp_path) == {"data_2.gulp: 101": "meta_0.gmeta has this id, too"}
    text = (tmp_path / "meta_1.gmeta").read_text()
    (tmp_path / "meta_1.gmeta").write_text(text[:-1] + ', "102": {}}')
    assert skipped(tmp_path)["data_1.gulp: 102"] == "the meta has this id twice"


@pytest.mark.parametrize(
    ("item", "why"),
    [
        ({}, "does not give frame_info"),
        ({"frame_info": [], "meta_data": [{}]}, "no frames"),
        ({"frame_info": [[0, 0, 8], [8, 0]], "meta_data": [{}]}, "rows of three"),
        ({"frame_info": [[0, 0, 8.5]], "meta_data": [{}]}, "rows of three"),
        ({"frame_info": [[0, 0, 2**70]], "meta_data": [{}]}, "rows of three"),
        ({"frame_info": 7, "meta_data": [{}]}, "rows of three"),
        ({"frame_info": [[-4, 0, 8]], "meta_data": [{}]}, "cannot be"),
        ({"frame_info": [[0, 9, 8]], "meta_data": [{}]}, "cannot be"),
        ({"frame_info": [[0, 0, 2**33]], "meta_data": [{}]}, "cannot be"),
        ({"frame_info": [[2**63 - 1, 0, 8]], "meta_data": [{}]}, "cannot be"),
        ({"frame_info": [[0, 2**63 - 1, -(2**63)]], "meta_data": [{}]}, "cannot be"),
        ({"frame_info": [[0, 0, 2**30]], "meta_data": [{}]}, "its frames end at byte 1073741824"),
        ({"frame_info": [[0, 0, 8]], "meta_data": {}}, "meta_data is not a list"),
    ],
)
def test_an_item_that_is_none_is_named_with_what_is_wrong(tmp_path, item, why):
    gulps.written_by_gulpio2(tmp_path, range(3), 3)
    write_meta(tmp_path, meta_of(tmp_path) | {"bad": item})
    found = skipped(tmp_path)
    assert list(found) == ["data_0.gulp: bad"]
    assert why in found["data_0.gulp: bad"]


@pytest.mark.parametrize("id_", ["", "/etc/passwd", "a/../b", "a//b", "\ud800", "a\0"])
def test_an_id_that_cannot_name_a_sample_is_reported(tmp_path, id_):
    gulps.written_by_gulpio2(tmp_path, range(2), 2)
    meta = meta_of(tmp_path)
    write_meta(tmp_path, {id_: meta["100"], "101": meta["101"]})
    source = open_source(str(tmp_path))
    assert (source.keys, [item.why for item in source.skipped]) == (["101"], ["the id cannot name a sample"])
    assert all(item.name.encode() and item.name.isprintable() for item in source.skipped)


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_metas_that_gulpio2_pickled_are_read(tmp_path, protocol):
    gulps.written_by_gulpio2(tmp_path, range(4), 2)
    expected = open_source(str(tmp_path))
    for number in range(2):
        chunk = gulpio2.GulpChunk(str(tmp_path / f"data_{number}.gulp"), str(tmp_path / f"meta_{number}.gmeta"))
        for item in chunk.meta_dict.values():
            item["frame_info"] = [gulpio2.fileio.ImgInfo(*row) for row in item["frame_info"]]
        (tmp_path / f"meta_{number}.gmeta").write_bytes(pickle.dumps(chunk.meta_dict, protocol))
    found = open_source(str(tmp_path))
    assert (found.keys, found.label_values(), found.skipped) == (expected.keys, expected.label_values(), ())
    assert [found.fields["clip"].read(n) for n in range(4)] == [expected.fields["clip"].read(n) for n in range(4)]


class Evil:
    def __reduce__(self):
        return os.mkdir, ("evil",)


def test_a_pickle_that_asks_for_code_is_refused_and_not_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    gulps.written_by_gulpio2(tmp_path, range(4), 2)
    (tmp_path / "meta_0.gmeta").write_bytes(pickle.dumps({"100": Evil()}))
    assert "the pickle asks for code, which is refused" in skipped(tmp_path)["meta_0.gmeta"]
    assert open_source(str(tmp_path)).keys == ["102", "103"]
    assert not (tmp_path / "evil").exists()


@pytest.mark.parametrize("text", ["", "{", "[]", "[" * 100_000, "\xff"])
def test_where_nothing_can_be_read_the_first_reason_is_given(tmp_path, text):
    gulps.written_by_gulpio2(tmp_path, range(2), 2)
    (tmp_path / "meta_0.gmeta").write_text(text)
    with pytest.raises(SourceError, match=r"there are no items: got meta_0\.gmeta: broken: the meta is "):
        open_source(str(tmp_path))


def test_frames_of_an_item_that_was_appended_to_are_found_on_both_sides_of_another(tmp_path):
    chunk = gulpio2.GulpChunk(str(tmp_path / "data_0.gulp"), str(tmp_path / "meta_0.gmeta"))
    with chunk.open("wb"):
        for item, numbers in (("a", (0, 1)), ("b", (2, 3)), ("a", (4,))):
            chunk.append(item, {}, [gulps.pixels(0, number) for number in numbers])
    expected = gulps.read_by_gulpio2(tmp_path)
    source = open_source(str(tmp_path))
    assert (source.keys, source.classes, source.skipped) == (["a", "b"], None, ())
    assert source.fields["clip"].read(0) == expected["a"][0]
    penstock.pack(tmp_path, tmp_path.with_suffix(".pen"), keep_bytes=True, seed=None)
    frames = penstock.open(tmp_path.with_suffix(".pen")).column("clip").frames
    assert np.diff(frames.first).tolist() == [3, 2]
    assert frames.length.tolist() == [len(frame) for one in expected.values() for frame in one[0]]


def test_opened_in_place_what_is_lost_is_known(tmp_path):
    gulps.written_by_gulpio2(tmp_path, range(7), 3)
    lose(tmp_path)
    dataset = penstock.open(tmp_path)
    assert kind_at(str(tmp_path)).name == "gulp"
    assert [item.name for item in dataset.lost] == ["data_2.gulp: 106"]


@pytest.mark.parametrize("frames", [[0], [1, 0, 1], slice(0, 2), slice(1, None)])
def test_chosen_frames_are_those_that_gulpio2_chooses(tmp_path, frames):
    gulps.written_by_gulpio2(tmp_path, ITEMS, 3)
    theirs = gulpio2.GulpDirectory(str(tmp_path), jpeg_decoder=bytes)
    dataset = penstock.open(tmp_path)
    for number in range(len(dataset)):
        jpegs, _ = theirs[dataset.key(number), frames]
        found = dataset[number, frames].fields["clip"]
        assert found.data == b"".join(jpegs)
        assert found.frames == tuple(map(len, jpegs))


def test_batches_of_a_directory_in_place_are_those_of_the_packed_dataset(tmp_path):
    gulps.written_by_gulpio2(tmp_path / "g", ITEMS, 3)
    penstock.pack(tmp_path / "g", tmp_path / "g.pen", seed=None)
    transforms = [ClipSample(2, 1, start="random"), RandomResizedCrop(24)]
    batches = []
    for path in (tmp_path / "g", tmp_path / "g.pen"):
        loader = penstock.Loader(path, batch_size=3, transforms=transforms, seed=5, fields=["clip", "label"])
        batches.append([(clips.copy(), labels.copy()) for clips, labels in loader])
    assert len(batches[0]) == 3
    for (clips, labels), (expected, numbers) in zip(*batches, strict=True):
        assert np.array_equal(clips, expected)
        assert np.array_equal(labels, numbers)


def test_a_directory_in_an_object_store_is_opened_and_loaded_where_it_is(tmp_path, seaweedfs):
    gulps.written_by_gulpio2(tmp_path / "g", ITEMS, 3)
    bucket = objects.Bucket.of(seaweedfs, "gulps/clips.gulp")
    for path in (tmp_path / "g").iterdir():
        bucket.write(path.name, path.read_bytes())
    here = penstock.open(tmp_path / "g")
    there = penstock.open(bucket.url, access=objects.access(seaweedfs, tmp_path))
    assert there.index.equals(here.index)
    assert (there.classes, there.lost) == (here.classes, ())
    transforms = [ClipSample(2, 1, start="random"), RandomResizedCrop(24)]
    loaders = [
        penstock.Loader(one, batch_size=3, transforms=transforms, seed=5, fields=["clip"]) for one in (here, there)
    ]
    for expected, found in zip(*loaders, strict=True):
        assert np.array_equal(found["clip"], expected["clip"])
    bucket.remove("meta_1.gmeta")
    assert [item.name for item in penstock.open(bucket.url, access=objects.access(seaweedfs, tmp_path)).lost] == [
        "data_1.gulp"
    ]
