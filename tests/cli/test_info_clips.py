"""`penstock info` of clips: frames, and what each form takes on disk."""

import json

from click.testing import CliRunner

import penstock
from penstock.cli import main
from tests import clips, gulps


def info(path, *options):
    done = CliRunner().invoke(main, ["info", str(path), *options])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_frames_of_clips_are_summed_up_whatever_they_lie_in(tmp_path):
    source = clips.frame_folders(tmp_path)
    penstock.pack(source, tmp_path / "c.pen")
    penstock.export(tmp_path / "c.pen", tmp_path / "g", to="gulp")
    counts = sorted(map(clips.frame_count, range(6)))
    expected = {"all": sum(counts), "fewest": counts[0], "median": (counts[2] + counts[3]) / 2, "most": counts[-1]}
    for path in (source, tmp_path / "c.pen", tmp_path / "g"):
        found = json.loads(info(path, "--json"))
        assert found["fields"]["clip"]["frames"] == expected
        assert (found["samples"], found["classes"], found["left_out"]) == (6, 3, 0)
        disk = found["on_disk"]
        assert disk["total"] == sum(disk[part] for part in ("payload", "padding", "index", "slack", "folders"))
        assert f"{sum(counts)} frames; of a clip 3 to 7, median" in info(path)


def test_the_parts_on_disk_are_named(tmp_path):
    penstock.pack(clips.frame_folders(tmp_path), tmp_path / "c.pen")
    packed = info(tmp_path / "c.pen")
    assert "in 3 files" in packed
    assert all(part in packed for part in ("payload", "tar and labels", "index", "slack", "folders"))
    gulps.written_by_gulpio2(tmp_path / "g", range(3), 3)
    gulped = info(tmp_path / "g")
    assert "padding" in gulped
    assert "tar and labels" not in gulped


def test_what_is_lost_of_a_gulp_directory_is_told(tmp_path):
    gulps.written_by_gulpio2(tmp_path, range(4), 2)
    (tmp_path / "meta_1.gmeta").write_bytes(b"")
    shown = info(tmp_path)
    assert "left out 1 files" in shown
    assert "meta_1.gmeta: broken: the meta is empty; the items in data_1.gulp are lost" in shown
