"""kill -9 while packing, with real processes: the same command again gives the bytes of an uninterrupted run."""

import json
import os
import signal
import subprocess
import sys

import penstock
from tests import folders

PACK = """
import sys, penstock
penstock.pack(sys.argv[1], sys.argv[2], shard_bytes=9000, seed=4,
              progress=lambda state: print(state.items, flush=True) if len(sys.argv) > 3 else None)
"""

# The command itself; once it has finished its second shard it says so, and waits with the next until stdin is closed.
COMMAND = """
import sys
def wait(event, arguments):
    if event == "os.rename" and str(arguments[1]).endswith("shards/000001.tar"):
        print(flush=True)
        sys.stdin.readline()
if sys.argv.pop(1) == "waiting":
    sys.addaudithook(wait)
from penstock.cli import main
main()
"""


def campaign(*arguments):
    done = subprocess.run(
        [sys.executable, "-m", "tests.killing", *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    results = [json.loads(line) for line in done.stdout.splitlines()]
    assert [result["step"] for result in results if not result["equal"]] == []
    return [result for result in results if result["killed"]]


def test_a_pack_killed_before_any_step_that_touches_the_disk_resumes_to_the_same_bytes(tmp_path):
    killed = campaign(folders.classes(tmp_path / "photos", 9), tmp_path)
    assert len(killed) > 25
    # Also between the manifest and the last clean-up.
    assert {result["published"] for result in killed} == {False, True}


def test_a_pack_over_another_dataset_killed_before_any_such_step_leaves_nothing_of_the_other(tmp_path):
    source = folders.classes(tmp_path / "photos", 6)
    old = tmp_path / "old.pen"
    penstock.pack(source, old, shard_bytes=1)  # more shards than there will be
    killed = campaign(source, tmp_path, old)
    assert len(killed) > 25
    assert [result["published"] for result in killed[:: len(killed) - 1]] == [True, True]  # the other, then the new
    assert {result["published"] for result in killed} == {False, True}


def test_a_pack_killed_from_outside_again_and_again_resumes_to_the_same_bytes(tmp_path):
    source = folders.classes(tmp_path / "photos", 24)
    command = [sys.executable, "-c", PACK, source]
    subprocess.run([*command, tmp_path / "whole.pen"], check=True)
    for lines in (1, 6, 9):
        child = subprocess.Popen([*command, tmp_path / "p.pen", "talk"], stdout=subprocess.PIPE)
        for _ in range(lines):  # each line is a file dealt with; dying happens somewhere after it
            child.stdout.readline()
        os.kill(child.pid, signal.SIGKILL)
        child.communicate()
    subprocess.run([*command, tmp_path / "p.pen"], check=True)
    assert folders.content(tmp_path / "p.pen") == folders.content(tmp_path / "whole.pen")


def test_ctrl_c_ends_the_command_with_its_own_code_and_the_same_command_goes_on(tmp_path):
    source = folders.classes(tmp_path / "photos", 24)
    command = [sys.executable, "-c", COMMAND]
    options = ["pack", source, tmp_path / "p.pen", "--shard-size", "9000B", "--seed", "4", "--json"]
    with subprocess.Popen(
        [*command, "waiting", *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as child:
        child.stdout.readline()
        os.kill(child.pid, signal.SIGINT)
        _, said = child.communicate()
    assert (child.returncode, said) == (130, b"interrupted\n")
    assert not (tmp_path / "p.pen" / "penstock.json").exists()
    again = subprocess.run([*command, "on", *options], capture_output=True, check=True)
    assert json.loads(again.stdout)["resumed_items"] > 0
    penstock.pack(source, tmp_path / "whole.pen", shard_bytes=9000, seed=4)
    assert folders.content(tmp_path / "p.pen") == folders.content(tmp_path / "whole.pen")
