"""Files of an untouched folder that should be samples and are none: the loader stops at them, or counts them."""

import os
import pickle

import pytest

import penstock
from penstock.errors import SourceError
from penstock.loader import Loader
from penstock.torch import Dataset
from penstock.torch import Loader as TensorLoader
from penstock.transforms import RandomResizedCrop
from tests import folders

OPTIONS = {"batch_size": 4, "transforms": [RandomResizedCrop(16)]}


@pytest.fixture
def whole(tmp_path):
    """A folder of twelve images in three classes, with files that nobody takes for images."""
    source = folders.classes(tmp_path / "photos")
    return folders.write(source, {"c0/notes.txt": b"", "c0/.hidden.jpg": b""})


@pytest.fixture
def lossy(whole):
    """The same, of which three files are lost."""
    (whole / "c2" / "dangling.jpg").symlink_to("nowhere")
    (whole / "c1" / "loop").symlink_to("..")  # listing it would never end
    (whole / "beside.jpg").write_bytes(folders.jpeg())
    return whole


def test_a_folder_with_files_that_are_no_images_by_their_names_is_whole(whole):
    with Loader(whole, **OPTIONS) as loader:
        assert sum(len(batch.ids) for batch in loader) == 12
        assert loader.statistics().skipped == {}


@pytest.mark.parametrize("kind", [Loader, TensorLoader])
def test_a_loader_over_a_folder_that_lost_files_says_so_at_once(lossy, kind):
    with pytest.raises(SourceError) as caught:
        kind(lossy, **OPTIONS)
    said = str(caught.value)
    assert "got 3, the first unlabelled: lies beside the class folders" in said
    assert "beside.jpg" in said
    assert "on_error='skip'" in said


def test_views_and_joined_folders_have_lost_what_the_folder_has(lossy, tmp_path):
    folder = penstock.open(lossy)
    other = penstock.open(folders.classes(tmp_path / "others"))
    for dataset in (folder.select([1, 2]), penstock.join([other, folder]), pickle.loads(pickle.dumps(folder))):
        with pytest.raises(SourceError):
            Loader(dataset, **OPTIONS)


def test_skipping_counts_them_once_in_each_iteration_and_names_them(lossy):
    with Loader(lossy, on_error="skip", **OPTIONS) as loader:
        for _ in range(2):
            assert sum(len(batch.ids) for batch in loader) == 12
            statistics = loader.statistics()
            assert statistics.skipped == {"SourceError": 3}
            assert [error.file for error in statistics.errors] == ["beside.jpg", "c1/loop", "c2/dangling.jpg"]


def test_a_packed_dataset_has_lost_nothing_whatever_its_packing_left_out(lossy, tmp_path):
    penstock.pack(lossy, tmp_path / "photos.pen", on_error="skip")
    with Loader(tmp_path / "photos.pen", **OPTIONS) as loader:
        assert sum(len(batch.ids) for batch in loader) == 12
        assert loader.statistics().skipped == {}


def test_what_is_lost_after_a_folder_was_indexed_is_seen_and_no_header_is_read_again(whole, monkeypatch):
    before = penstock.open(whole)
    monkeypatch.setattr("penstock.ingest.in_place._probe", None)
    (whole / "c2" / "dangling.jpg").symlink_to("nowhere")
    lossy = penstock.open(whole)
    assert [item.name for item in lossy.lost] == ["c2/dangling.jpg"]
    assert lossy.digest == before.digest
    os.unlink(whole / "c2" / "dangling.jpg")
    assert penstock.open(whole).lost == ()


def test_a_dataset_for_torchs_own_loader_stops_at_them_too(lossy):
    with pytest.raises(SourceError, match="got 3"):
        Dataset(lossy, transforms=[RandomResizedCrop(16)])
    dataset = Dataset(lossy, transforms=[RandomResizedCrop(16)], on_error="skip")
    assert len(dataset) == 12
    assert dataset[0][0].shape == (3, 16, 16)
