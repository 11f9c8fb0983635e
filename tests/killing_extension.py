"""Extends a dataset in forked children and kills them at every step that touches the disk. Run by test_extension.py.

    python -m tests.killing_extension SOURCE DATASET FOLDER

Child n dies before its n-th step (tests/killing.py). What it leaves is looked at: which manifest is there, and whether
that dataset is sound, to readers and to `verify`. Then another child extends again, and the result is compared with an
uninterrupted one. One line per step.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import penstock
from tests.folders import content
from tests.killing import packed


def main(source: str, dataset: str, folder: str) -> None:
    """Die at every step, look, resume, compare."""
    whole, killed = Path(folder) / "whole.pen", Path(folder) / "killed.pen"
    shutil.copytree(dataset, whole)
    old = (whole / "penstock.json").read_bytes()
    packed(source, whole, None, extend=True)
    wanted = content(whole)
    known = {old: "old", wanted["penstock.json"]: "new"}
    step, lived = 0, False
    while not lived:
        step += 1
        shutil.copytree(dataset, killed)
        lived = packed(source, killed, step, extend=True)
        left = known.get((killed / "penstock.json").read_bytes())
        is_sound = penstock.verify(killed).is_sound
        seen = len([sample.key for sample in penstock.open(killed)])
        packed(source, killed, None, extend=True)
        result = {"step": step, "killed": not lived, "left": left, "sound": is_sound, "seen": seen}
        sys.stdout.write(json.dumps({**result, "equal": content(killed) == wanted}) + "\n")
        shutil.rmtree(killed)


if __name__ == "__main__":
    main(*sys.argv[1:])
