"""Exporting to GulpIO: real GulpIO2 reads what is written, and what GulpIO2 wrote comes back byte for byte."""

import json

import gulpio2
import numpy as np
import pytest
from gulpio2 import sanity_utils
from PIL import Image

import penstock
from penstock.errors import SourceError, UsageError
from tests import clips, folders, gulps, images


def gulp(path, folder, **options):
    return penstock.export(path, folder, to="gulp", **options)


@pytest.mark.parametrize("write", [gulps.written_by_gulpio2, gulps.version_1])
def test_a_directory_of_gulpio_that_is_read_in_place_comes_back_to_the_byte(tmp_path, write):
    """Its extra member and its order of members included: id, label, idx, then all others."""
    write(tmp_path / "g", range(7), 3)
    report = gulp(tmp_path / "g", tmp_path / "back", videos_per_chunk=3)
    assert folders.content(tmp_path / "back") == folders.content(tmp_path / "g")
    assert (report.samples, report.files) == (7, 3)


def test_so_it_does_by_way_of_a_packed_dataset(tmp_path):
    gulps.written_by_gulpio2(tmp_path / "g", range(7), 3)
    penstock.pack(tmp_path / "g", tmp_path / "g.pen", keep_bytes=True, seed=None)
    gulp(tmp_path / "g.pen", tmp_path / "back", videos_per_chunk=3)
    assert folders.content(tmp_path / "back") == folders.content(tmp_path / "g")


def test_gulpio2_reads_clips_and_decodes_them_to_the_pixels_of_the_source(tmp_path):
    penstock.pack(clips.frame_folders(tmp_path), tmp_path / "c.pen")  # tiled and shuffled
    gulp(tmp_path / "c.pen", tmp_path / "g", videos_per_chunk=4)
    directory = gulpio2.GulpDirectory(str(tmp_path / "g"))
    assert directory.num_chunks == 2
    assert sorted(directory.merged_meta_dict) == [f"{100 + clip}" for clip in range(6)]
    numbers = json.loads((tmp_path / "g" / "label2idx.json").read_text())
    assert numbers == {name: number for number, name in enumerate(sorted(clips.LABELS))}
    for clip in range(6):
        frames, said = directory[f"{100 + clip}"]
        label = clips.LABELS[clip % 3]
        assert said == {"id": f"{100 + clip}", "label": label, "idx": numbers[label]}
        assert len(frames) == clips.frame_count(clip)
        for number, pixels in enumerate(frames):  # its decoder takes short cuts: the same ones with the source's file
            assert np.array_equal(pixels, gulpio2.utils.jpeg_bytes_to_img(clips.frame(clip, number)))
    jpegs = gulps.read_by_gulpio2(tmp_path / "g")["103"][0]
    assert np.array_equal(images.rgb(jpegs[2]), images.rgb(clips.frame(3, 2)))


def test_some_samples_of_a_dataset_are_exported_alone(tmp_path):
    gulps.written_by_gulpio2(tmp_path / "g", range(7), 3)
    gulp(penstock.open(tmp_path / "g").select([5, 1]), tmp_path / "some")
    expected = gulps.read_by_gulpio2(tmp_path / "g")
    assert gulps.read_by_gulpio2(tmp_path / "some") == {name: expected[name] for name in ("105", "101")}


def test_images_become_items_of_one_frame_with_their_names_as_ids(tmp_path):
    files = {"cat/1.jpg": folders.jpeg(1), "cat/2.JPEG": folders.jpeg(2), "dog/1.jpg": folders.jpeg(3)}
    gulp(folders.write(tmp_path / "photos", files), tmp_path / "g")
    found = gulps.read_by_gulpio2(tmp_path / "g")
    assert {name: frames for name, (frames, _) in found.items()} == {name: [data] for name, data in files.items()}
    assert found["dog/1.jpg"][1] == {"id": "dog/1.jpg", "label": "dog", "idx": 1}


# Data files of 23 clips of 80 frames, 100x100, black or white, and of 2 more: the sizes that GulpIO's own tests expect.
GOLDEN_1, GOLDEN_1_MORE = [659200, 659200, 197760], 131840
GOLDEN_2, GOLDEN_2_MORE = [739200, 739200, 221760], 147840


class BlackAndWhite:
    """GulpIO2's own encoder on frames of one grey."""

    def __init__(self, count, first=0):
        self.count, self.first = count, first

    def __len__(self):
        return self.count

    def iter_data(self, which):
        for number in range(self.first, self.first + self.count)[which]:
            frame = np.full((100, 100, 3), 255 * (number % 2), np.uint8)
            label = f"label {number % 11}"
            yield {"id": str(number), "frames": [frame] * 80, "meta": {"id": str(number), "label": label}}


def ingest(folder, adapter):
    folder.mkdir(exist_ok=True)
    slices = gulpio2.fileio.calculate_chunk_slices(10, len(adapter))
    for chunk, which in zip(gulpio2.GulpDirectory(str(folder)).new_chunks(len(slices)), slices, strict=True):
        gulpio2.ChunkWriter(adapter).write_chunk(chunk, which)


def sizes(folder):
    return [path.stat().st_size for path in sorted(folder.glob("data*.gulp"))]


def test_the_golden_sizes_of_gulpio2_come_out_of_the_same_jpegs_and_of_an_extension(tmp_path):
    ingest(tmp_path / "theirs", BlackAndWhite(23))
    assert sizes(tmp_path / "theirs") == GOLDEN_2
    gulp(tmp_path / "theirs", tmp_path / "ours", videos_per_chunk=10)
    assert sizes(tmp_path / "ours") == GOLDEN_2
    ingest(tmp_path / "more", BlackAndWhite(2, first=23))
    gulp(tmp_path / "more", tmp_path / "ours", extend=True)
    assert sizes(tmp_path / "ours") == [*GOLDEN_2, GOLDEN_2_MORE]
    assert list(gulps.read_by_gulpio2(tmp_path / "ours")) == [str(number) for number in range(25)]


def test_gulpio2_finds_what_was_exported_sane_and_goes_on_behind_it(tmp_path):
    gulp(folders.classes(tmp_path / "photos", 12), tmp_path / "g", videos_per_chunk=5)
    directory = gulpio2.GulpDirectory(str(tmp_path / "g"))
    assert sanity_utils.check_meta_file_size_larger_zero(directory) == []
    assert sanity_utils.check_data_file_size_larger_zero(directory) == []
    assert sanity_utils.check_data_file_size(directory) == []
    assert sanity_utils.check_for_duplicate_ids(directory) == []
    gulps.written_by_gulpio2(tmp_path / "g", range(2), 2, frames=1)
    assert sorted(path.name for path in (tmp_path / "g").glob("*.gulp")) == [f"data_{n}.gulp" for n in range(4)]
    assert len(gulpio2.GulpDirectory(str(tmp_path / "g")).merged_meta_dict) == 14


def frames_of_version_1(root, clip_numbers):
    """Folders of frames as version 1 encodes them: quality 95, colour at half the resolution."""
    for clip in clip_numbers:
        frame = images.jpeg(np.full((100, 100, 3), 255 * (clip % 2), np.uint8), quality=95, subsampling="4:2:0")
        folders.write(root, {f"frames/{clip}/{number:05d}.jpg": frame for number in range(80)})
    folders.write(root, {"train.csv": "".join(f"{clip};label {clip % 11}\n" for clip in clip_numbers).encode()})
    return root / "train.csv"


def test_the_golden_sizes_of_version_1_come_out_of_its_jpegs_and_of_an_extension(tmp_path):
    penstock.pack(frames_of_version_1(tmp_path / "a", range(23)), tmp_path / "a.pen", keep_bytes=True, seed=None)
    gulp(tmp_path / "a.pen", tmp_path / "g", videos_per_chunk=10)
    assert sizes(tmp_path / "g") == GOLDEN_1
    penstock.pack(frames_of_version_1(tmp_path / "b", range(23, 25)), tmp_path / "b.pen", keep_bytes=True, seed=None)
    gulp(tmp_path / "b.pen", tmp_path / "g", extend=True)
    assert sizes(tmp_path / "g") == [*GOLDEN_1, GOLDEN_1_MORE]
    assert list(gulps.read_by_gulpio2(tmp_path / "g")) == [str(number) for number in range(25)]


def test_an_extension_keeps_the_numbers_of_labels_and_adds_new_ones(tmp_path):
    penstock.pack(folders.write(tmp_path / "a", {"dog/1.jpg": folders.jpeg(1)}), tmp_path / "a.pen")
    gulp(tmp_path / "a.pen", tmp_path / "g", extend=True)  # of nothing yet
    more = folders.write(tmp_path / "b", {"cat/1.jpg": folders.jpeg(2), "dog/2.jpg": folders.jpeg(3)})
    gulp(more, tmp_path / "g", extend=True)
    assert json.loads((tmp_path / "g" / "label2idx.json").read_text()) == {"dog": 0, "cat": 1}
    found = {name: said["idx"] for name, (_, said) in gulps.read_by_gulpio2(tmp_path / "g").items()}
    assert found == {"dog/1.jpg": 0, "cat/1.jpg": 1, "dog/2.jpg": 0}
    before = folders.content(tmp_path / "g")
    with pytest.raises(UsageError, match=r"ids are in the directory already: got 2 of them, such as 'cat/1\.jpg'"):
        gulp(more, tmp_path / "g", extend=True)
    assert folders.content(tmp_path / "g") == before


def test_a_directory_that_is_not_sound_is_not_extended(tmp_path):
    gulps.written_by_gulpio2(tmp_path / "g", range(4), 2)
    (tmp_path / "g" / "meta_1.gmeta").unlink()
    with pytest.raises(SourceError, match=r"not sound: data_1\.gulp: broken: no meta has the number 1"):
        gulp(folders.classes(tmp_path / "photos"), tmp_path / "g", extend=True)


def test_force_leaves_no_chunk_of_another_export(tmp_path):
    photos = folders.classes(tmp_path / "photos", 12)
    gulp(photos, tmp_path / "g", videos_per_chunk=2)
    (tmp_path / "g" / "note").write_text("mine")
    with pytest.raises(UsageError, match=r"not empty(.|\n)*--force"):
        gulp(photos, tmp_path / "g")
    gulp(photos, tmp_path / "g", force=True)
    assert sorted(folders.content(tmp_path / "g")) == ["data_0.gulp", "label2idx.json", "meta_0.gmeta", "note"]
    with pytest.raises(UsageError, match="one of the two"):
        gulp(photos, tmp_path / "g", force=True, extend=True)


def test_what_is_no_jpeg_stops_an_export_and_leaves_no_half_of_a_chunk(tmp_path):
    photos = folders.write(tmp_path / "photos", {"a/1.jpg": folders.jpeg(1), "a/2.png": folders.png(2)})
    with pytest.raises(SourceError, match=r"GulpIO holds JPEGs alone(.|\n)*sample a/2\.png(.|\n)*quality=90"):
        gulp(photos, tmp_path / "g")
    assert folders.content(tmp_path / "g") == {}


def test_images_with_masks_and_samples_of_one_name_do_not_fit(tmp_path):
    photos = folders.write(tmp_path / "photos", {"1.jpg": folders.jpeg(1)})
    masks = folders.write(tmp_path / "masks", {"1.png": images.png(np.zeros((24, 40), np.uint8))})
    penstock.pack(photos, tmp_path / "m.pen", masks=masks)
    with pytest.raises(UsageError, match="images or clips alone"):
        gulp(tmp_path / "m.pen", tmp_path / "g")
    penstock.pack(photos, tmp_path / "p.pen")
    twice = penstock.join([tmp_path / "p.pen", tmp_path / "p.pen"])
    with pytest.raises(UsageError, match="2 samples have one name"):
        gulp(twice, tmp_path / "g")


def test_labels_of_every_type_are_said(tmp_path):
    photos = folders.write(tmp_path / "photos", {f"{i}.jpg": folders.jpeg(i) for i in range(2)})
    (tmp_path / "l.csv").write_text("file,score,name,day\n0,1.5,é,2020-01-31\n1,2,b,2020-02-01\n")
    penstock.pack(photos, tmp_path / "p.pen", labels=tmp_path / "l.csv", seed=None)
    gulp(tmp_path / "p.pen", tmp_path / "g")
    found = gulps.read_by_gulpio2(tmp_path / "g")["0.jpg"][1]
    assert found == {"id": "0.jpg", "score": 1.5, "name": "é", "day": "2020-01-31"}
    assert not (tmp_path / "g" / "label2idx.json").exists()


def test_grey_frames_stay_grey(tmp_path):
    grey = np.asarray(Image.fromarray(images.photo(40, 24)).convert("L"))
    photos = folders.write(tmp_path / "photos", {"a/1.jpg": images.jpeg(grey)})
    gulp(photos, tmp_path / "g")
    frames, _ = gulpio2.GulpDirectory(str(tmp_path / "g"))["a/1.jpg"]
    assert frames[0].shape == (24, 40)


@pytest.mark.parametrize(("to", "said"), [("folder", {"extend": True}), ("webdataset", {"videos_per_chunk": 2})])
def test_what_is_said_of_another_form_is_refused(tmp_path, to, said):
    with pytest.raises(UsageError, match="is about another form"):
        penstock.export(folders.classes(tmp_path / "photos"), tmp_path / "x", to=to, **said)
    with pytest.raises(UsageError, match="no such form"):
        penstock.export(tmp_path / "photos", tmp_path / "x", to="lmdb")
    with pytest.raises(UsageError, match="at least 1"):
        gulp(tmp_path / "photos", tmp_path / "x", videos_per_chunk=0)
