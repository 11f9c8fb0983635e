"""Packs in forked children and kills them with SIGKILL at every step that touches the disk. Run by test_pack_kill.py.

    python -m tests.killing SOURCE FOLDER [OLD]

A step is an audit event of the interpreter: opening, renaming, removing, making a file or folder. Child n dies before
its n-th step. Then another child packs again, to the end, and the result is compared with an uninterrupted pack's.
One line per step: whether the child was killed, whether a manifest was there, whether the bytes are the same. With OLD,
a dataset, each child begins over a copy of it, with `force`; whoever goes on needs `force` only where a dataset is
there. Forking from a process that has only imported the library keeps a step at a few hundredths of a second.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import traceback
from pathlib import Path

import penstock
from tests.folders import content

ALREADY = ("there is a dataset already", "samples with these keys are there already")  # killed at the very last step
STEPS = ("open", "os.rename", "os.remove", "os.mkdir", "os.rmdir")


def packed(source: str, destination: Path, die_at: int | None, *, force: bool = False, extend: bool = False) -> bool:
    """Pack in a child; whether it lived."""
    child = os.fork()
    if child == 0:
        steps = 0

        def count(event: str, arguments: tuple[object, ...]) -> None:
            nonlocal steps
            if event in STEPS and str(destination) in str(arguments[0]):
                steps += 1
                if steps == die_at:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(count)
        code = 1
        try:
            penstock.pack(source, destination, shard_bytes=9000, workers=2, seed=4, force=force, extend=extend)
            code = 0
        except penstock.errors.UsageError as error:
            code = 0 if any(words in str(error) for words in ALREADY) else 1
        finally:  # a forked child must not return into its parent's code
            if code:
                traceback.print_exc()
            os._exit(code)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        return False
    if status:
        raise SystemExit(f"a child failed with status {status}")
    return True


def main(source: str, folder: str, old: str | None = None) -> None:
    """Die at every step, resume, compare."""
    whole = Path(folder) / "whole.pen"
    packed(source, whole, None)
    wanted = content(whole)
    step, lived = 0, False
    while not lived:
        step += 1
        destination = Path(folder) / "killed.pen"
        if old is not None:
            shutil.copytree(old, destination)
        lived = packed(source, destination, step, force=old is not None)
        is_published = (destination / "penstock.json").exists()
        packed(source, destination, None, force=old is not None and is_published)
        result = {"step": step, "killed": not lived, "published": is_published, "equal": content(destination) == wanted}
        sys.stdout.write(json.dumps(result) + "\n")
        shutil.rmtree(destination)


if __name__ == "__main__":
    main(*sys.argv[1:])
