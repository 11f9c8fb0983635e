"""Packs into an object store in forked children and kills them with SIGKILL. Run by test_pack_objects_kill.py.

    python -m tests.killing_objects SOURCE URL CONFIG STEPS SHARD_BYTES WHOLE [OLD]

A step is a request that is about to be made, or a part of a shard that is about to be sent; STEPS, "all" or "parts",
says at which of them to die. Child n dies before its n-th step. Then another child packs again, to the end, and the
objects are compared with WHOLE, a folder packed without interruption. One line per step: whether the child was killed,
whether a manifest was there, whether the bytes are the same. With OLD, a folder with a dataset, each child begins over
a copy of it, with `force`. The parent makes no request by obstore: it could not fork any more.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import traceback
from pathlib import Path
from urllib.parse import urlsplit

import penstock
from penstock.storage import object as objects
from penstock.storage import runtime
from tests.folders import content
from tests.objects import Bucket, client


class Steps:
    """Counts, and dies."""

    def __init__(self, kinds: str, die_at: int | None) -> None:
        self.count, self.kinds, self.die_at = 0, kinds, die_at

    def step(self, kind: str) -> None:
        if self.kinds in {"all", kind}:
            self.count += 1
            if self.count == self.die_at:
                os.kill(os.getpid(), signal.SIGKILL)


class Parts:
    """A file that is sent; each reading of it is a step."""

    def __init__(self, file, steps: Steps) -> None:
        self._file, self._steps = file, steps

    def read(self, size: int = -1) -> bytes:
        self._steps.step("parts")
        return self._file.read(size)

    def __getattr__(self, name: str) -> object:
        return getattr(self._file, name)


def watch(steps: Steps) -> None:
    """Have the steps counted in this process."""
    call, send = runtime.call, objects._Connection.send

    def counted(coroutine):
        steps.step("requests")
        return call(coroutine)

    runtime.call = counted
    objects._Connection.send = lambda self, name, data, size: send(self, name, Parts(data, steps), size)


def packed(source: str, url: str, config: str, shard_bytes: int, steps: Steps, *, force: bool = False) -> bool:
    """Pack in a child; whether it lived."""
    child = os.fork()
    if child == 0:
        watch(steps)
        code, options = 1, {"shard_bytes": shard_bytes, "workers": 2, "seed": 4, "keep_bytes": True}
        try:
            penstock.pack(source, url, access=penstock.Access(config=config), force=force, **options)
            code = 0
        except penstock.errors.UsageError as error:
            code = 0 if "there is a dataset already" in str(error) else 1
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


def main(arguments: list[str]) -> None:
    """Die at every step, resume, compare."""
    source, url, config, kinds, shard_bytes, whole, old = [*arguments, None][:7]
    wanted, size = content(Path(whole)), int(shard_bytes)
    before = {} if old is None else content(Path(old))
    secrets, place = json.loads(Path(config).read_text()), urlsplit(url)
    s3 = client(secrets["endpoint_url"], secrets["aws_access_key_id"], secrets["aws_secret_access_key"])
    bucket = Bucket(s3, place.netloc, place.path.strip("/"))
    step, lived = 0, False
    while not lived:
        step += 1
        for name in bucket.names():
            bucket.remove(name)
        for name, data in before.items():
            bucket.write(name, data)
        lived = packed(source, url, config, size, Steps(kinds, step), force=old is not None)
        is_published = "penstock.json" in bucket.names()
        packed(source, url, config, size, Steps(kinds, None), force=old is not None and is_published)
        same = bucket.content() == wanted
        result = {"step": step, "killed": not lived, "published": is_published, "equal": same}
        sys.stdout.write(json.dumps(result) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
