"""`penstock pack --dry-run`: says what there is, writes nothing; and the options of sources on the command line."""

import json

from click.testing import CliRunner

import penstock
from penstock.cli import main
from tests import folders, videos


def run(*arguments):
    return CliRunner().invoke(main, ["pack", *map(str, arguments)])


def source(tmp_path):
    images = {f"{'cat' if number < 3 else 'dog'}/{number}.jpg": folders.jpeg(number) for number in range(5)}
    return folders.write(tmp_path / "photos", {**images, "cat/notes.txt": b""}), images


def test_it_lists_kind_samples_classes_and_bytes_and_writes_nothing(tmp_path):
    path, images = source(tmp_path)
    before = folders.content(tmp_path)
    done = run(path, "--dry-run")
    assert done.exit_code == 0
    assert done.output.splitlines()[:3] == [
        f"image-folder: 5 samples (image), {sum(map(len, images.values())) / 1000:.1f} kB to read",
        "  labels  label",
        "  classes 2: 3 cat, 2 dog",
    ]
    assert "left out 1:\n    cat/notes.txt: not an image" in done.output
    assert folders.content(tmp_path) == before


def test_a_destination_may_be_named_and_stays_away(tmp_path):
    path, _ = source(tmp_path)
    assert run(path, tmp_path / "p.pen", "--dry-run").exit_code == 0
    assert not (tmp_path / "p.pen").exists()
    assert run(path).exit_code == 2
    assert "Missing argument 'DESTINATION'" in run(path).output


def test_as_json_it_says_the_same(tmp_path):
    path, images = source(tmp_path)
    found = json.loads(run(path, "--dry-run", "--json").output)
    assert (found["samples"], found["bytes"]) == (5, sum(map(len, images.values())))
    assert (found["classes"], found["fields"]) == ({"cat": 3, "dog": 2}, ["image"])
    assert [item["name"] for item in found["skipped"]] == ["cat/notes.txt"]


def test_it_ends_as_the_pack_would(tmp_path):
    path, _ = source(tmp_path)
    folders.write(path, {"loose.jpg": folders.jpeg()})
    for arguments, code in ((["--dry-run"], 1), (["--dry-run", "--on-error", "skip"], 0), ([tmp_path / "p.pen"], 1)):
        done = run(path, *arguments)
        assert done.exit_code == code
        assert "loose.jpg" in done.output


def test_duplicates_are_named_or_removed(tmp_path):
    folders.write(tmp_path, {"a.jpg": folders.jpeg(), "list.txt": b"a.jpg,x\na.jpg,x\n"})
    assert "1 keys have several samples" in run(tmp_path / "list.txt", "--dry-run").output
    done = run(tmp_path / "list.txt", "--dry-run", "--remove-duplicates")
    assert (done.exit_code, done.output.split(",")[0]) == (0, "image-list: 1 samples (image)")


def test_videos_are_packed_at_a_rate_and_a_size_or_named_and_the_run_fails(tmp_path):
    files = {f"cook/{number}.mp4": videos.video(seed=number) for number in range(3)}
    path = folders.write(tmp_path / "videos", files)
    assert run(path, tmp_path / "v.pen", "--frame-rate", 5, "--short-side", 24).exit_code == 0
    assert penstock.open(tmp_path / "v.pen")[0].clip().shape == (5, 24, 32, 3)
    folders.write(path, {"cook/1.mp4": files["cook/1.mp4"][:500]})
    done = run(path, tmp_path / "w.pen")
    assert done.exit_code == 1
    assert "cook/1.mp4" in done.output
    done = run(path, tmp_path / "w.pen", "--on-error", "skip")
    assert done.exit_code == 3
    assert "cook/1.mp4: broken: the file is cut off: got 500 bytes" in done.output
