"""Lists objects in forked children and kills them with SIGKILL. Run by test_index_kill.py.

    python -m tests.killing_index SOURCE OUT WHOLE WAY CONFIG [OLD]

WAY is "plain" or "checksums". A step is a request, a group of objects that is about to be read, or something that is
done to the list or to the progress that is kept. Child n dies before its n-th step; what it left under OUT is compared
with OLD (or with nothing) and with WHOLE, the list that an uninterrupted call gives. Then another child lists again.
One line per step: whether the child was killed, what lay under OUT then ("nothing", "old", "whole" or "other"), whether
the second list is WHOLE, and how many objects the second child read. CONFIG is a file for Access, or "none". The parent
makes no request by obstore: it could not fork any more.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import tempfile
import traceback
from pathlib import Path
from urllib.parse import urlsplit

import penstock
from penstock.ingest import object_sums
from penstock.storage import runtime
from tests.objects import Bucket, client

EVENTS = ("open", "os.rename", "os.remove", "os.mkdir")


class Steps:
    """Counts, and dies."""

    def __init__(self, die_at: int | None) -> None:
        self.count, self.die_at, self.objects = 0, die_at, 0

    def step(self) -> None:
        self.count += 1
        if self.count == self.die_at:
            os.kill(os.getpid(), signal.SIGKILL)

    def watch(self, *places: str) -> None:
        """Have the steps counted in this process, one after another."""
        call, sums = runtime.call, object_sums._sums

        def asked(coroutine):
            self.step()
            return call(coroutine)

        def summed(store, objects):
            self.step()
            self.objects += len(objects)
            return sums(store, objects)

        def happened(event: str, arguments: tuple[object, ...]) -> None:
            if event in EVENTS and any(place in str(arguments[0]) for place in places):
                self.step()

        runtime.call = asked
        object_sums._sums, object_sums._OBJECTS, object_sums._THREADS = summed, 2, 1
        sys.addaudithook(happened)


def listed(source: str, out: str, way: str, config: str, die_at: int | None) -> tuple[bool, int]:
    """List in a child; whether it lived, and how many objects it read."""
    given, taken = os.pipe()
    child = os.fork()
    if child == 0:
        code, steps = 1, Steps(die_at)
        steps.watch(out, "penstock/sums")
        access = None if config == "none" else penstock.Access(config=config)
        try:
            penstock.index_objects(source, out, checksums=way == "checksums", access=access)
            os.write(taken, str(steps.objects).encode())
            code = 0
        finally:  # a forked child must not return into its parent's code
            if code:
                traceback.print_exc()
            os._exit(code)
    os.close(taken)
    with open(given, encoding="utf-8") as pipe:
        objects = int(pipe.read() or 0)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        return False, objects
    if status:
        raise SystemExit(f"a child failed with status {status}")
    return True, objects


class Out:
    """Where the list goes: a file, or an object."""

    def __init__(self, out: str, config: str) -> None:
        self.path, self.bucket = Path(out), None
        if "://" in out:
            secrets, place = json.loads(Path(config).read_text()), urlsplit(out)
            s3 = client(secrets["endpoint_url"], secrets["aws_access_key_id"], secrets["aws_secret_access_key"])
            self.bucket, self.name = Bucket(s3, place.netloc, os.path.dirname(place.path.strip("/"))), self.path.name

    def put(self, data: bytes | None) -> None:
        if self.bucket is None:
            self.path.unlink(missing_ok=True) if data is None else self.path.write_bytes(data)
        elif data is None:
            self.bucket.remove(self.name)
        else:
            self.bucket.write(self.name, data)

    def get(self) -> bytes | None:
        if self.bucket is None:
            return self.path.read_bytes() if self.path.exists() else None
        return self.bucket.read(self.name) if self.name in self.bucket.names() else None


def main(arguments: list[str]) -> None:
    """Die at every step, list again, compare."""
    source, out, whole_, way, config, old_ = [*arguments, None][:6]
    whole, old = Path(whole_).read_bytes(), None if old_ is None else Path(old_).read_bytes()
    place, step, lived = Out(out, config), 0, False
    while not lived:
        step += 1
        os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp(dir=os.environ["TMPDIR"])
        place.put(old)
        lived, _ = listed(source, out, way, config, step)
        found = place.get()
        left = "whole" if found == whole else "nothing" if found is None else "old" if found == old else "other"
        _, objects = listed(source, out, way, config, None)
        kept = os.path.join(os.environ["XDG_CACHE_HOME"], "penstock", "sums")
        result = {"killed": not lived, "left": left, "equal": place.get() == whole, "objects": objects}
        sys.stdout.write(json.dumps({**result, "forgot": not (os.path.isdir(kept) and os.listdir(kept))}) + "\n")
        sys.stdout.flush()
        shutil.rmtree(os.environ["XDG_CACHE_HOME"])


if __name__ == "__main__":
    main(sys.argv[1:])
