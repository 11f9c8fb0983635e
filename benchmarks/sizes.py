"""What the same clips take on disk in each form, part by part: why a packed dataset is smaller than its files.

    python benchmarks/sizes.py CLIPS --work FOLDER [--out benchmarks/results/sizes.json]

CLIPS is a folder in 20BN-jester's layout: train.csv and frames/. FOLDER must be on the same file system, since slack is
what a file system adds. Forms:

    files               the folders of frames
    gulpio2             GulpIO2's own chunks: it decodes every frame and encodes it anew, at quality 90
    gulp, bytes kept    the same layout with the frames' own bytes (`penstock export --to gulp`)
    penstock            packed as it comes: rewritten losslessly as tiles
    penstock, bytes kept

Payload is pictures; where it differs from that of the files, pictures were encoded anew. Nothing is timed.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import gulpio2
from gulpio2.adapters import Custom20BNCsvJpegAdapter
from gulpio2.fileio import calculate_chunk_slices

import penstock
from penstock.bench.machine import describe, versions
from penstock.ingest.kinds import open_source
from penstock.sizes import sizes_of, sizes_of_source

if TYPE_CHECKING:
    from penstock.sizes import Sizes

PARTS = ("payload", "padding", "index", "slack", "folders", "total")


def gulped(clips: Path, folder: Path) -> None:
    """Have GulpIO2 write its chunks, 100 clips each as it does unless told otherwise."""
    folder.mkdir()
    adapter = Custom20BNCsvJpegAdapter(str(clips / "train.csv"), str(clips / "frames"), str(folder))
    slices = calculate_chunk_slices(100, len(adapter))
    with contextlib.redirect_stdout(io.StringIO()):
        for chunk, which in zip(gulpio2.GulpDirectory(str(folder)).new_chunks(len(slices)), slices, strict=True):
            gulpio2.ChunkWriter(adapter).write_chunk(chunk, which)


def measured(clips: Path, work: Path) -> dict[str, Sizes | None]:
    """Make every form, and measure it."""
    listed = clips / "train.csv"
    forms = {
        "gulpio2": lambda to: gulped(clips, to),
        "penstock": lambda to: penstock.pack(listed, to),
        "penstock, bytes kept": lambda to: penstock.pack(listed, to, keep_bytes=True),
        "gulp, bytes kept": lambda to: penstock.export(work / "penstock, bytes kept", to, to="gulp"),
    }
    found = {"files": sizes_of_source(open_source(str(listed)))}
    for name, make in forms.items():
        make(work / name)
        os.sync()  # some file systems give blocks only when they write
        found[name] = sizes_of(penstock.open(work / name))
    return found


def table(found: dict[str, Sizes]) -> str:
    """Lay the parts out in columns, in MB, and the sum beside that of the files."""
    whole = found["files"].total
    lines = ["| form | files | " + " | ".join(f"{part}, MB" for part in PARTS) + " | of the files' |"]
    lines.append("|" + "---|" * (len(PARTS) + 3))
    for name, sizes in found.items():
        parts = " | ".join(f"{getattr(sizes, part) / 1e6:.2f}" for part in PARTS)
        lines.append(f"| {name} | {sizes.files:,} | {parts} | {sizes.total / whole:.1%} |")
    return "\n".join(lines)


def main() -> None:
    """Measure all forms, and say what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clips", type=Path)
    parser.add_argument("--work", type=Path, required=True, help="a new folder, beside the clips")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    args.work.mkdir()
    if args.work.stat().st_dev != args.clips.stat().st_dev:
        raise SystemExit("the forms must lie on the file system of the clips")
    found = {name: sizes for name, sizes in measured(args.clips, args.work).items() if sizes is not None}
    sys.stdout.write(table(found) + "\n")
    if args.out is not None:
        result = {
            "format": 1,
            "kind": "sizes",
            "command": f"python benchmarks/sizes.py {args.clips.name}",
            "machine": describe(),
            "versions": versions(("penstock", "gulpio2", "simplejpeg")),
            "block_bytes": os.statvfs(args.clips).f_frsize,
            "forms": {name: sizes.as_dict() for name, sizes in found.items()},
        }
        args.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
