"""The command: data on stdout, talk on stderr, codes that scripts can rely on."""

import json
import os
import re
import subprocess
import sys

import pytest
from click.testing import CliRunner

from penstock.cli import VERBS, main
from penstock.cli.quantities import shown_bytes
from tests import folders


def run(*words, code=0):
    result = CliRunner().invoke(main, [str(word) for word in words])
    assert result.exit_code == code, result.output
    return result


@pytest.fixture
def packed(tmp_path):
    source = folders.classes(tmp_path / "photos")
    folders.write(source, {"c0/notes.txt": b"", "c1/bad.jpg": b"no"})
    run("pack", source, tmp_path / "p.pen", "--on-error", "skip", "--shard-size", "12kB", code=3)
    return tmp_path / "p.pen"


def test_packing_reports_what_was_done_and_what_was_left_out(tmp_path):
    source = folders.classes(tmp_path / "photos")
    folders.write(source, {"c0/notes.txt": b"", "c1/bad.jpg": b"no"})
    shown = run("pack", source, tmp_path / "p.pen", "--on-error", "skip", code=3).stdout
    assert "12 samples in 1 shards" in shown
    assert "12 tiled" in shown
    assert "c1/bad.jpg: not an image: it begins 6e 6f" in shown
    again = run("pack", source, tmp_path / "q.pen", "--on-error", "skip", "--json", "--in-order", code=3).stdout
    report = json.loads(again)
    assert (report["samples"], len(report["skipped"])) == (12, 2)


def test_the_bar_counts_files_bytes_and_outcomes(tmp_path, monkeypatch):
    source = folders.classes(tmp_path / "photos")
    folders.write(source, {"c0/notes.txt": b"", "c1/bad.jpg": b"no"})
    size = shown_bytes(sum(len(data) for data in folders.content(source).values()))
    options = ("pack", source, tmp_path / "p.pen", "--on-error", "skip")
    assert run(*options, code=3).stderr == ""  # no terminal, no bar
    monkeypatch.setenv("FORCE_COLOR", "1")  # as if stderr were a terminal
    monkeypatch.setenv("COLUMNS", "200")
    shown = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", run(*options, "--force", code=3).stderr).splitlines()[-1]
    assert "100%" in shown
    assert "13/13 files" in shown
    assert f"of {size}" in shown
    assert "12 tiled, 1 not an image" in shown or "1 not an image, 12 tiled" in shown


def test_only_what_should_have_been_a_sample_changes_how_packing_ends(tmp_path):
    source = folders.classes(tmp_path / "photos")
    folders.write(source, {"c0/notes.txt": b""})
    run("pack", source, tmp_path / "p.pen", "--on-error", "skip", code=0)


def test_errors_go_to_stderr_with_a_code(tmp_path, packed):
    source = packed.with_name("photos")
    refused = run("pack", source, packed, code=2)
    assert refused.stdout == ""
    assert "there is a dataset already" in refused.stderr
    assert "hint: choose another destination, or replace it with --force" in refused.stderr
    bad = run("pack", source, tmp_path / "q.pen", code=1)
    assert "c1/bad.jpg" in bad.stderr
    assert "usage" in run("pack", "x", "y", "--shard-size", "big", code=2).stderr.lower()
    run("info", tmp_path / "nowhere", code=2)


def test_info_adds_up_to_what_is_on_disk(packed):
    found = json.loads(run("info", packed, "--json").stdout)
    sizes = found["bytes"]
    on_disk = sum(len(data) for name, data in folders.content(packed).items() if name != "penstock.json")
    assert sizes["total"] == sizes["payload"] + sizes["tar_and_labels"] + sizes["index"] == on_disk
    assert found["payload_change_bytes"] == sizes["payload"] - sizes["source"]
    assert (found["samples"], found["classes"], found["left_out"]) == (12, 3, 2)
    assert found["fields"]["image"]["formats"] == {"jpeg": 12}
    shown = run("info", packed).stdout
    assert "12 samples" in shown
    assert "rewriting" in shown


def test_info_knows_an_untouched_folder(packed):
    found = json.loads(run("info", packed.with_name("photos"), "--json").stdout)
    assert found["fields"]["image"]["formats"] == {"jpeg": 12, "unknown": 1}
    assert "bytes" not in found
    assert "1 files that are no samples" in run("info", packed.with_name("photos")).stdout


def test_info_names_what_was_left_out_and_first_what_should_have_been_a_sample(packed):
    source = packed.with_name("photos")
    folders.write(source, {f"c0/{number:02d}.txt": b"" for number in range(20)})
    (source / "c2" / "gone.jpg").symlink_to("nowhere")
    lines = run("info", source).stdout.splitlines()
    at = lines.index("  left out 22 files that are no samples:")
    assert lines[at + 1] == "    c2/gone.jpg: unreadable: No such file or directory"
    assert lines[at + 2] == "    c0/00.txt: not an image: by the suffix of its name"
    assert lines[-1] == "    and 12 more: see --json"
    listed = json.loads(run("info", source, "--json").stdout)["left_out_files"]
    assert len(listed) == 22
    assert listed[0]["name"] == "c2/gone.jpg"
    assert "c1/bad.jpg: not an image" in run("info", packed).stdout


def test_verify_ends_with_code_1_and_the_damaged_samples(packed):
    assert "sound" in run("verify", packed).stdout
    shard = packed / "shards" / "000000.tar"
    data = bytearray(shard.read_bytes())
    data[800] ^= 1
    shard.write_bytes(data)
    report = json.loads(run("verify", packed, "--json", code=1).stdout)
    assert len(report["damaged_samples"]) == 1
    assert report["damaged_samples"][0] in run("verify", packed, code=1).stdout


def test_export_gives_the_files_back(packed, tmp_path):
    assert "12 files" in run("export", packed, tmp_path / "back").stdout
    assert min(folders.content(tmp_path / "back")) == "c0/000.JPEG"
    run("export", packed, tmp_path / "back", code=2)
    assert json.loads(run("export", packed, tmp_path / "back", "--force", "--json").stdout)["files"] == 12


def test_export_writes_other_forms(packed, tmp_path):
    gulp = json.loads(run("export", packed, tmp_path / "g", "--to", "gulp", "--videos-per-chunk", 5, "--json").stdout)
    assert (gulp["samples"], gulp["files"]) == (12, 3)
    assert "12 samples, 1 files" in run("export", packed, tmp_path / "w", "--to", "webdataset").stdout
    refused = run("export", packed, tmp_path / "g", "--to", "gulp", "--extend", code=2)
    assert "ids are in the directory already: got 12 of them" in refused.stderr
    assert "about another form" in run("export", packed, tmp_path / "x", "--shard-size", "1MB", code=2).stderr


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_explains_itself(verb):
    shown = run(verb, "--help").stdout
    assert shown.startswith(f"Usage: main {verb}")
    assert "--json" in shown


def test_the_command_starts_without_loading_what_a_verb_needs_not():
    code = (
        "import sys; sys.argv = ['penstock', '--help']\n"
        "from penstock.cli import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        "sys.exit(any(name in sys.modules for name in ('torch', 'matplotlib', 'rich.progress')))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0


def test_output_that_cannot_be_written_is_one_line_and_a_code(packed):
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-c", "from penstock.cli import main; main()", "info", packed]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.stderr == "error: No space left on device\n"
    assert done.returncode == 1


def test_a_reader_that_has_gone_ends_the_command_quietly(packed):
    command = [sys.executable, "-c", "from penstock.cli import main; main()", "info", packed]
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert done.stderr == ""
    assert done.returncode == 1


def test_an_unknown_verb_is_refused():
    assert "No such command" in run("frobnicate", code=2).stderr
