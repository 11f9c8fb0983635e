"""`penstock index` of files that others packed: a side-car that is used instead of walking them, while it holds."""

import json

import pytest

import penstock
from penstock.errors import SourceError
from penstock.ingest import web_tars
from penstock.ingest.in_files import SIDECAR
from penstock.ingest.kind import Options
from penstock.ingest.kinds import open_source
from tests import clips, folders, gulps, images, lmdbs, stores, webtars
from tests.cli.test_verbs import run

COUNT = 10
JPEGS = [folders.jpeg(at) for at in range(COUNT)]


def walks(monkeypatch):
    """Counts how often a tar is walked."""
    count, real = [0], web_tars.samples_of

    def counting(file):
        count[0] += 1
        return real(file)

    monkeypatch.setattr(web_tars, "samples_of", counting)
    return count


def without_cache(monkeypatch, folder):
    """As another user has it: with an empty cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))


def test_tars_with_a_side_car_are_opened_without_being_walked(tmp_path, monkeypatch):
    tars = webtars.shards(tmp_path / "tars", COUNT)
    told = json.loads(run("index", tars, "--json").stdout)
    assert told == {
        "path": f"{tars}{SIDECAR}",
        "kind": "webdataset",
        "samples": COUNT,
        "files": 3,
        "bytes": sum(path.stat().st_size for path in tars.iterdir()),
        "classes": None,
        "missing": [],
    }
    count = walks(monkeypatch)
    dataset = penstock.open(tars)
    assert [sample.fields["image"].data for sample in dataset] == JPEGS
    assert count == [0]
    (tars.parent / f"tars{SIDECAR}").unlink()
    without_cache(monkeypatch, tmp_path / "other")
    assert penstock.open(tars).digest == dataset.digest
    assert count == [3]


@pytest.mark.parametrize("name", ["x.lmdb", "gulp", "x.tar"])
def test_every_kind_that_is_opened_in_place_can_have_one(tmp_path, monkeypatch, name):
    made = {
        "x.lmdb": lambda: lmdbs.efficient(tmp_path / name),
        "gulp": lambda: gulps.written_by_gulpio2(tmp_path / name, range(5), 2),
        "x.tar": lambda: webtars.write(tmp_path / name, [webtars.sample(at) for at in range(3)]),
    }
    path = made[name]()
    before = penstock.open(path)
    assert "samples in" in run("index", path).stdout
    without_cache(monkeypatch, tmp_path / "other")
    after = penstock.open(path)
    assert after.digest == before.digest
    assert after.index.equals(before.index)


def test_one_of_other_files_or_of_changed_ones_is_refused(tmp_path, monkeypatch):
    tars = webtars.shards(tmp_path / "tars", COUNT)
    run("index", tars)
    before = (tars / "x-000001.tar").stat().st_size
    webtars.write(tars / "x-000001.tar", [webtars.sample(at) for at in range(5, 10)])
    assert (tars / "x-000001.tar").stat().st_size == before  # a tar is filled up: sizes alone do not tell
    with pytest.raises(SourceError, match=r"is of other files, or these have changed(.|\n)*penstock index"):
        penstock.open(tars)
    run("index", tars)
    without_cache(monkeypatch, tmp_path / "other")
    assert len(penstock.open(tars)) == COUNT + 1
    lmdbs.efficient(tmp_path / "x.lmdb")
    run("index", tmp_path / "x.lmdb")
    lmdbs.write(tmp_path / "x.lmdb", [(b"more", b"nothing")])
    with pytest.raises(SourceError, match="is of other files, or these have changed"):
        penstock.open(tmp_path / "x.lmdb")
    tars = tars.rename(tmp_path / "moved")
    (tmp_path / f"tars{SIDECAR}").rename(tmp_path / f"moved{SIDECAR}")
    without_cache(monkeypatch, tmp_path / "third")
    assert len(penstock.open(tars)) == COUNT + 1  # copied or moved, it holds
    (tars / "x-000002.tar").rename(tars / "y.tar")
    with pytest.raises(SourceError, match="is of other files"):
        penstock.open(tars)


def test_what_a_caller_says_is_not_answered_by_one(tmp_path):
    tars = webtars.shards(tmp_path / "tars", COUNT)
    run("index", tars)
    (tmp_path / "names").write_text("cat\ndog\nemu\n")
    assert penstock.open(tars).classes is None
    assert penstock.open(tars, labels=tmp_path / "names").classes == ("cat", "dog", "emu")


def test_one_in_a_bucket_is_written_there_and_used_from_there(tmp_path, seaweedfs, monkeypatch):
    stores.allow(monkeypatch, seaweedfs)
    url = stores.uploaded(seaweedfs, webtars.shards(tmp_path / "tars", COUNT), "test_index_files/tars")
    pattern = f"{url}/x-{{000000..000002}}.tar"
    told = json.loads(run("index", pattern, "--endpoint", seaweedfs.endpoint, "--json").stdout)
    assert (told["path"], told["samples"]) == (f"{pattern}{SIDECAR}", COUNT)
    count = walks(monkeypatch)
    dataset = penstock.open(pattern, access=stores.access(seaweedfs.endpoint))
    assert [sample.fields["image"].data for sample in dataset] == JPEGS
    assert count == [0]


def test_what_is_missing_is_named(tmp_path):
    samples = [webtars.sample(at) for at in range(14)]
    for one in samples[1:13]:
        del one["cls"]
    path = webtars.write(tmp_path / "x.tar", samples)
    told = run("index", path, "-o", tmp_path / "elsewhere").stdout.splitlines()
    assert told[0].startswith(f"{tmp_path / 'elsewhere'}: 2 samples in 1 files, ")
    assert told[1] == "  missing x.tar: photos/00001: unlabelled: it has no .cls, as others have"
    assert (len(told), told[-1]) == (12, "  and 2 more: see --json")


def test_options_of_lists_are_refused_and_lists_need_a_place(tmp_path):
    tars = webtars.shards(tmp_path / "tars", 4)
    assert (
        "are about loose images: got a source of kind webdataset"
        in run("index", tars, "--suffix", ".jpg", code=2).stderr
    )
    photos = images.image_folder(tmp_path / "photos")
    assert "a list of loose images goes into a file" in run("index", photos, code=2).stderr


def test_what_has_no_index_of_its_own_is_refused_with_what_to_do_instead(tmp_path):
    photos = images.image_folder(tmp_path / "photos")
    first = next(photos.rglob("*.jpg")).relative_to(photos)
    (photos / "some.txt").write_text(f"{first},a\n")
    told = run("index", photos / "some.txt", "-o", tmp_path / "x.json", code=2).stderr
    assert "a source of kind image-list has no index of its own" in told
    assert "hint: it is opened as it is" in told
    table = clips.frame_folders(tmp_path / "clips")
    assert "hint: pack it: `penstock pack`" in run("index", table, code=2).stderr


@pytest.mark.parametrize("name", ["tars", "x.lmdb"])
def test_listing_tells_how_far_it_is(tmp_path, name):
    path = webtars.shards(tmp_path / name, COUNT) if name == "tars" else lmdbs.efficient(tmp_path / name)
    told = []
    options = Options(progress=lambda done, total: told.append((done, total)))
    assert len(open_source(str(path), options=options)) >= COUNT
    assert told == ([(1, 3), (2, 3), (3, 3)] if name == "tars" else [(12, 12)])


def test_info_says_which_kind_of_files_a_dataset_is_and_what_is_missing(tmp_path):
    samples = [webtars.sample(at) for at in range(4)]
    del samples[1]["jpg"]
    tars = tmp_path / "tars"
    tars.mkdir()
    webtars.write(tars / "a.tar", samples)
    webtars.write(tars / "b.tar", [webtars.sample(at) for at in range(4, 8)])
    size = sum(path.stat().st_size for path in tars.iterdir())
    found = json.loads(run("info", tars, "--json").stdout)
    assert (found["kind"], found["samples"], found["missing"]) == ("webdataset", 7, 1)
    assert found["files"] == {"count": 2, "bytes": size, "names": ["a.tar", "b.tar"]}
    told = run("info", tars).stdout
    assert "  kind     webdataset: 2 files, " in told
    assert "  missing  1: a loader stops at them" in told
    assert "a.tar: photos/00001: not an image: it has no image" in told
    assert json.loads(run("info", lmdbs.efficient(tmp_path / "x.lmdb"), "--json").stdout)["kind"] == "lmdb"
    assert json.loads(run("info", images.image_folder(tmp_path / "p"), "--json").stdout)["kind"] == "image-folder"
    first = next((tmp_path / "p").rglob("*.jpg")).relative_to(tmp_path / "p")
    (tmp_path / "p" / "some.txt").write_text(f"{first},a\n")
    assert json.loads(run("info", tmp_path / "p" / "some.txt", "--json").stdout)["kind"] == "image-list"
    penstock.pack(tmp_path / "p", tmp_path / "p.pen")
    assert json.loads(run("info", tmp_path / "p.pen", "--json").stdout)["kind"] == "packed"
