"""Clips as GulpIO-benchmarks timed them, 50 batches of [10, 3, 18, 84, 84]: folders of frames, GulpIO2, penstock.

    python benchmarks/clips.py CLIPS --gulp-python .peers/gulpio2/bin/python --out benchmarks/results/clips.json

CLIPS is a folder of 500 clips in 20BN-jester's layout, train.csv and frames/: one epoch. Of each clip come 18 frames,
every second one from a random start on, cut to the 84 pixels in the middle. The order is that of the data, as in the
original; it used 5 workers, here there are 2, and penstock has 2 threads.

    frames      a torch DataLoader over the folders, Pillow, as the original did it
    gulpio2     the same over GulpIO2's files and reader (simplejpeg), in an environment of its own
    penstock    the packed dataset

All give uint8. The originals turned each frame into a float tensor in between: without that they are faster. Every run
is a process of its own, in an order drawn anew for each round; its time begins before the first iterator is made, as
the original's did, so that starting workers counts. The time to the first batch is stated apart. Medium: warm, with all
files in the page cache, or cold on an emulated hard disk (a control group), proven by mincore and by the device.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

if find_spec("penstock") is None:  # as in GulpIO2's environment: see penstock.bench.start
    package = ModuleType("penstock")
    package.__path__ = [str(Path(__file__).resolve().parent.parent / "src" / "penstock")]
    sys.modules["penstock"] = package
from penstock.bench import cache_state, groups

if TYPE_CHECKING:
    from collections.abc import Iterator

CLIPS, BATCH, FRAMES, STRIDE, SIDE, WORKERS = 500, 10, 18, 2, 84, 2
SYSTEMS = ("frames", "gulpio2", "penstock")
FORMS = {"frames": "frames", "gulpio2": "clips.gulp", "penstock": "clips.pen"}


def wanted(count: int) -> list[int]:
    """Choose frames as the originals do: a random start where there are more than needed, the last one repeated."""
    start = int(np.random.default_rng().integers(max(count - FRAMES * STRIDE, 0) + 1))
    return [min(number, count - 1) for number in range(start, start + FRAMES * STRIDE, STRIDE)]


def stacked(frames: list[np.ndarray]) -> np.ndarray:
    """Cut the middle out of each frame: [3, T, H, W]."""
    height, width = frames[0].shape[:2]
    top, left = (height - SIDE) // 2, (width - SIDE) // 2
    return np.stack([frame[top : top + SIDE, left : left + SIDE] for frame in frames]).transpose(3, 0, 1, 2).copy()


class Folders:
    """Folders of frames, decoded by Pillow."""

    def __init__(self, root: Path) -> None:
        self.root, self.ids = root / "frames", listed(root)

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, number: int) -> tuple[np.ndarray, int]:
        from PIL import Image

        folder = self.root / self.ids[number]
        names = sorted(path for path in folder.iterdir() if path.suffix.lower() in {".jpg", ".jpeg"})
        return stacked([np.asarray(Image.open(names[at]).convert("RGB")) for at in wanted(len(names))]), number


class Gulped:
    """GulpIO2's files, by its own reader."""

    def __init__(self, root: Path) -> None:
        from gulpio2 import GulpDirectory

        self.gulp, self.ids = GulpDirectory(str(root / FORMS["gulpio2"])), listed(root)

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, number: int) -> tuple[np.ndarray, int]:
        name = self.ids[number]
        count = len(self.gulp.merged_meta_dict[name]["frame_info"])
        frames, _ = self.gulp[name, wanted(count)]
        return stacked(frames), number


def listed(root: Path) -> list[str]:
    """Give the ids of the clips."""
    return [line.partition(";")[0] for line in (root / "train.csv").read_text().splitlines()]


def batches(name: str, root: Path) -> Iterator[tuple[Any, Any]]:
    """Yield a system's batches and which clips are in them."""
    if name == "penstock":
        from penstock.torch import Loader
        from penstock.transforms import CenterCrop, ClipSample

        transforms = [ClipSample(FRAMES, STRIDE, start="random"), CenterCrop(SIDE)]
        path = root / FORMS[name]
        loader = Loader(path, batch_size=BATCH, transforms=transforms, shuffle=False, threads=WORKERS)
        for batch in loader:
            yield batch[0], batch.ids
        return
    from torch.utils.data import DataLoader

    data = {"frames": Folders, "gulpio2": Gulped}[name](root)
    yield from DataLoader(data, batch_size=BATCH, num_workers=WORKERS)  # type: ignore[arg-type]  # it asks for no more than these have


def run(name: str, root: Path, group: str | None) -> dict[str, Any]:
    """Time one epoch in this process."""
    import torch

    torch.set_num_threads(1)
    if name == "penstock":
        import pyarrow as pa

        import penstock.torch  # noqa: F401  what is imported is not timed

        pa.array([0])  # here pyarrow imports pandas, where there is one
    elif name == "gulpio2":
        import gulpio2  # noqa: F401  likewise
    else:
        import PIL.Image  # noqa: F401  likewise
    files = cache_state.files_below(root / FORMS[name])
    if group is not None:
        cache_state.drop(files)
        resident = cache_state.resident_share(files)
        Path(group).write_text(str(os.getpid()))
    else:
        for path in files:
            path.read_bytes()
        resident = None
    before, begin, first, level = device_bytes(), time.perf_counter(), 0.0, 0.0
    ids, shapes = [], set()
    for clips, which in batches(name, root):
        first = first or time.perf_counter() - begin
        ids += which.tolist()
        shapes.add((tuple(clips.shape), str(clips.dtype)))
        level += float(clips[0, 0, 0, 0, 0])
    seconds = time.perf_counter() - begin
    if sorted(ids) != list(range(CLIPS)) or shapes != {((BATCH, 3, FRAMES, SIDE, SIDE), "torch.uint8")}:
        raise SystemExit(f"not the same work: {len(ids)} clips, {shapes}")
    return {
        "seconds": seconds,
        "first_batch_seconds": first,
        "frames_per_second": CLIPS * FRAMES / seconds,
        "resident_before": resident,
        "device_read_bytes": device_bytes() - before,
    }


def device_bytes() -> int:
    """Say what the machine's disks have read; workers read, too, so this process's own count would not do."""
    rows = (line.split() for line in Path("/proc/diskstats").read_text().splitlines())
    return sum(int(row[5]) * 512 for row in rows if not row[2][-1].isdigit() or row[2].startswith("nvme"))


def timed(name: str, root: Path, medium: str, group: Path, pythons: dict[str, str]) -> dict[str, Any]:
    """Have a process of its own run one system."""
    request = {"name": name, "root": str(root), "group": str(group / "cgroup.procs") if medium == "cold" else None}
    command = ["taskset", "-c", "0,1", pythons.get(name, sys.executable), __file__, "--child", json.dumps(request)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    if done.returncode:
        return {"status": "failed", "message": done.stderr.strip()[-2000:]}
    answer = json.loads(done.stdout.splitlines()[-1])
    payload = sum(path.stat().st_size for path in cache_state.files_below(root / FORMS[name]))
    if medium == "cold" and (answer["resident_before"] > 0.01 or answer["device_read_bytes"] < 0.4 * payload):
        return {"status": "failed", "message": f"not cold: {answer}"}
    return {"status": "ok", "payload_bytes": payload, **answer}


@contextmanager
def child(request: dict[str, Any]) -> Iterator[None]:
    """Answer a request on stdout."""
    yield
    sys.stdout.write(json.dumps(run(request["name"], Path(request["root"]), request["group"])) + "\n")
    sys.stdout.flush()
    os._exit(0)


def prepare(clips: Path, gulp: Path) -> dict[str, Any]:
    """Make the two packed forms, once; how long that took."""
    import penstock

    if len(listed(clips)) != CLIPS:
        raise SystemExit(f"{clips} has {len(listed(clips))} clips, not {CLIPS}")
    told: dict[str, Any] = {}
    if not (clips / FORMS["gulpio2"]).is_dir():
        tool, begin = gulp.with_name("gulp2_20bn_csv_jpeg"), time.perf_counter()
        arguments = ["--num_workers", str(WORKERS), clips / "train.csv", clips / "frames", clips / FORMS["gulpio2"]]
        subprocess.run([tool, *arguments], check=True, capture_output=True)
        told["gulpio2_seconds"] = time.perf_counter() - begin
    if not (clips / FORMS["penstock"] / "penstock.json").exists():
        shutil.rmtree(clips / FORMS["penstock"], ignore_errors=True)
        begin = time.perf_counter()
        penstock.pack(clips / "train.csv", clips / FORMS["penstock"], workers=WORKERS)
        told["penstock_seconds"] = time.perf_counter() - begin
    return told


def ratios(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Say how many times as long the others took as penstock, round by round and in the middle."""
    seconds = {(run["round"], run["medium"], run["system"]): run["seconds"] for run in runs if run["status"] == "ok"}
    found: dict[str, Any] = {}
    for system, medium in (("frames", "cold"), ("frames", "warm"), ("gulpio2", "cold"), ("gulpio2", "warm")):
        pairs = [(seconds.get((n, medium, system)), seconds.get((n, medium, "penstock"))) for n in range(len(runs))]
        rounds = [theirs / ours for theirs, ours in pairs if theirs and ours]
        if rounds:
            found |= {f"{system}_{medium}": median(rounds), f"{system}_{medium}_by_round": rounds}
    return found


def main() -> None:
    """Run all rounds, and write what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clips", type=Path, nargs="?")
    parser.add_argument("--gulp-python", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--media", nargs="*", default=["warm", "cold"])
    parser.add_argument("--child", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        with child(json.loads(args.child)):
            pass
    from penstock.bench.machine import describe, versions

    machine, told = describe(), prepare(args.clips, args.gulp_python)
    drawn, runs = np.random.default_rng(0), []
    with groups.disk(args.clips) as group:
        for number in range(args.rounds):
            cells = [(name, medium) for name in SYSTEMS for medium in args.media]
            for name, medium in (cells[at] for at in drawn.permutation(len(cells))):
                answer = timed(name, args.clips, medium, group, {"gulpio2": str(args.gulp_python)})
                runs.append({"round": number, "system": name, "medium": medium, **answer})
                sys.stderr.write(f"round {number + 1}: {name} {medium}: {answer.get('seconds') or answer['message']}\n")
    result = {
        "format": 1,
        "kind": "clips",
        "command": f"python benchmarks/clips.py {args.clips.name} --rounds {args.rounds}",
        "machine": machine,
        "versions": versions(("penstock", "torch", "pillow", "numpy")),
        "disk": asdict(groups.DISK),
        "batches": CLIPS // BATCH,
        "shape": [BATCH, 3, FRAMES, SIDE, SIDE],
        "packing": told,
        "runs": runs,
        **ratios(runs),
    }
    args.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
