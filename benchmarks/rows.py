"""Reproduce every published row: race what has to be raced, then say what was reached and what was to be.

    .peers/bin/python benchmarks/rows.py DATA                 everything
    .peers/bin/python benchmarks/rows.py DATA --only photos   or large, raw, others, packing, starting, interpreter,
                                                              own-disk, disk, cache
    python benchmarks/rows.py --show                          only the tables (here and in the README), from results/

DATA holds (or gets, from photographs.py) the folders photos, large and others; forms that peers make lie beside them.
benchmarks/make_peers.sh makes .peers. Nothing else should run on the machine meanwhile.

On two cores all but `disk` and `cache` takes about 35 minutes. These two want control groups and to be
root, and are left out elsewhere; `disk` takes about 25 minutes more (that is how slow torchvision is there), `cache` 5.

What is published is of a revision that anybody can check out. So nothing is measured while files are changed that are
tracked, other than those written here.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from penstock.bench import groups
from penstock.results import compared, from_json, standings

HERE = Path(__file__).parent
RESULTS = HERE / "results"
WRITTEN = ("README.md", "benchmarks/README.md", "benchmarks/results/")  # by this script


@dataclass(frozen=True)
class Race:
    """A race that several rows are read from."""

    data: str
    peers: str
    epochs: int


@dataclass(frozen=True)
class Row:
    """One number to reach: `peer` against `against` in a race, or a value of another result."""

    work: str
    result: str
    peer: str
    against: str
    to_reach: float
    at_most: bool = False


RACES = {
    "photos": Race("photos", "penstock,penstock,penstock-folder,native,turbo,torchvision,ffcv,dali,pytorch", epochs=2),
    "large": Race("large", "penstock,penstock-folder,native,turbo,torchvision,ffcv,dali", epochs=4),
    "raw": Race("photos", "penstock-raw,ffcv-raw", epochs=3),
    "others": Race("others", "penstock,penstock-folder,native,turbo,torchvision,ffcv,dali", epochs=3),
}
SHOWN = {
    "penstock": "penstock, packed",
    "penstock-folder": "penstock, folder as it is",
    "turbo": "whole-image libjpeg-turbo decode, nothing else",
    "ffcv": "FFCV 1.0.2, JPEG",
    "dali": "DALI 2.4 on the CPU",
    "torchvision": "torchvision 0.29, ImageFolder + DataLoader",
}
SCRIPTS = {
    "packing": ("packing.py", "photos"),
    "starting": ("starting.py", "photos.pen"),
    "interpreter": ("interpreter.py", "photos.pen"),
    "own-disk": ("disk.py --own", "photos"),
    "disk": ("disk.py", "photos"),
    "cache": ("cache.py", "photos"),
    "stores": ("stores.py", "photos"),
}
CONTROLLERS = {"disk": "blkio", "cache": "memory"}  # the control groups that a script needs
ROWS = (
    Row("photos, packed", "photos", "penstock", "torchvision", 4.0),
    Row("photos, packed", "photos", "penstock", "ffcv", 3.0),
    Row("photos, packed", "photos", "penstock", "dali", 3.2),
    Row("photos, packed", "photos", "penstock", "turbo", 1.5),
    Row("photos of 2048x1536, packed", "large", "penstock", "ffcv", 6.0),
    Row("photos of 2048x1536, packed", "large", "penstock", "torchvision", 8.0),
    Row("loader against its own core", "photos", "penstock", "native", 0.92),
    Row("untouched image folder", "photos", "penstock-folder", "torchvision", 2.3),
    Row("raw images", "raw", "penstock-raw", "ffcv-raw", 1.2),
    Row("packing, one core", "packing", "ratio", "copy + jpegtran", 0.8),
    Row("packing, one core", "packing", "ratio_without_starts", "the same, without jpegtran's process starts", 0.8),
    Row("emulated hard disk, cold", "disk", "penstock-window", "torchvision", 10.0),
    Row("the same", "disk", "of_limit", "the disk's rate or the decoder's, the lower", 0.9),
    Row("this machine's disk, cold", "own-disk", "of_limit", "the disk's rate or the decoder's, the lower", 0.9),
    Row("S3 at 100 ms, loose objects", "stores", "loose", "DataLoader, 4 workers, boto3", 20.0),
    Row("S3 at 100 ms, packed, 25 MB/s", "stores", "packed_25", "the link", 0.9),
    Row("S3 at 100 ms, packed, 100 MB/s", "stores", "packed_100", "the link", 0.9),
    Row("clips, emulated hard disk, cold", "clips", "frames_cold", "folders of JPEG frames, Pillow", 10.0),
    Row("clips, warm", "clips", "gulpio2_warm", "GulpIO2", 3.0),
    Row("cache of half the dataset, hits", "stores", "cache_half_hits", "", 0.5),
    Row("open 1.28 M samples, first batch, s", "starting", "open_and_first_batch_seconds", "", 0.3, at_most=True),
    Row("order of 10^9 samples, first id, s", "starting", "first_id_seconds", "", 0.05, at_most=True),
    Row("the same, bytes", "starting", "first_id_peak_bytes", "", 10e6, at_most=True),
    Row("held by Python per image, microseconds", "interpreter", "held_microseconds_per_image", "", 5.0, at_most=True),
    Row("other photographs, packed", "others", "penstock", "torchvision", 4.0),
    Row("other photographs, packed", "others", "penstock", "ffcv", 3.0),
    Row("other photographs, packed", "others", "penstock", "dali", 3.2),
    Row("other photographs, packed", "others", "penstock", "turbo", 1.5),
    Row("other photographs, folder", "others", "penstock-folder", "torchvision", 2.3),
)


def make_data(folder: Path, name: str) -> Path:
    """Make one set of photographs unless it is there."""
    target = folder / name
    if not target.is_dir():
        sys.stderr.write(f"making {name}\n")
        subprocess.run([sys.executable, HERE / "photographs.py", name, target], check=True)
    return target


def measure(name: str, data: Path, rounds: int) -> None:
    """Make one result."""
    out = RESULTS / f"{name}.json"
    if name in RACES:
        race = RACES[name]
        folder = make_data(data, race.data)
        against = "torchvision" if "torchvision" in race.peers else race.peers.split(",")[-1]
        command = [Path(sys.executable).with_name("penstock"), "race", folder, "--peers", race.peers]
        command += ["--blocks", str(rounds), "--epochs", str(race.epochs), "--against", against]
        command += ["--out", out, "--html", out.with_suffix(".html")]
    else:
        (script, *options), form = SCRIPTS[name][0].split(), SCRIPTS[name][1]
        make_data(data, form.partition(".")[0])
        command = [sys.executable, HERE / script, data / form, *options, "--out", out]
    sys.stderr.write(f"{name}\n")
    subprocess.run(command, check=True)
    result = {**json.loads(out.read_text()), "revision": revision()}
    out.write_text(json.dumps(result, indent=1) + "\n")


def git(*arguments: str) -> str:
    """Ask git about these sources."""
    return subprocess.run(["git", *arguments], cwd=HERE, check=True, capture_output=True, text=True).stdout


def changed() -> list[str]:
    """List the tracked files that differ from the revision, but for those that this script writes."""
    names = git("diff", "HEAD", "--name-only", "-z").split("\0")
    return [name for name in names if name and not name.startswith(WRITTEN)]


def revision() -> str:
    """Name the state of the sources that was measured."""
    return git("describe", "--always").strip() + ("-dirty" if changed() else "")


def reached(row: Row) -> tuple[float, str] | None:
    """Read what a row came to, and between what; None where there is no result yet."""
    path = RESULTS / f"{row.result}.json"
    if not path.exists():
        return None
    result = json.loads(path.read_text())
    if row.peer in result:
        rounds = result.get(f"{row.peer}_by_round")
        return float(result[row.peer]), f"{min(rounds):.2f}-{max(rounds):.2f}, {len(rounds)} rounds" if rounds else ""
    found = next((one for one in compared(from_json(result), row.against) if one.cell == row.peer), None)
    if found is None:
        return None
    low, high = found.interval or (min(found.ratios), max(found.ratios))
    return found.middle, f"{low:.2f}-{high:.2f}, {len(found.ratios)} rounds"


def table() -> str:
    """Lay the rows out as a Markdown table."""
    lines = ["| work | against | to reach | reached | 95 % | |", "|---|---|---|---|---|---|"]
    for row in ROWS:
        value = reached(row)
        limit = f"{'≤' if row.at_most else '≥'} {row.to_reach:g}"
        if value is None:
            lines.append(f"| {row.work} | {row.against} | {limit} | not measured | | |")
            continue
        good = value[0] <= row.to_reach if row.at_most else value[0] >= row.to_reach
        lines.append(
            f"| {row.work} | {row.against} | {limit} | {value[0]:.3g} | {value[1]} | {'yes' if good else '**no**'} |"
        )
    return "\n".join(lines)


def rates() -> str:
    """Lay out how fast the loaders were as a Markdown table."""
    found = []
    for name in ("photos", "large"):
        result = json.loads((RESULTS / f"{name}.json").read_text())
        found.append({standing.cell: standing.middle for standing in standings(from_json(result))})
    lines = ["| loader | photos of about 500x375 | photos of 2048x1536 |", "|---|---|---|"]
    for peer, label in SHOWN.items():
        cells = [f"{rates[peer]:,.0f}" if rates.get(peer) else "did not finish" for rates in found]
        lines.append(
            "| " + " | ".join(f"**{cell}**" if peer == "penstock" else cell for cell in (label, *cells)) + " |"
        )
    return "\n".join(lines)


def memory() -> str:
    """Lay out what an epoch read from the device, by the memory that there was, as a Markdown table."""
    runs = json.loads((RESULTS / "cache.json").read_text())["runs"]
    lines = ["| memory, MB | ordinary reads | kept: what fits |", "|---|---|---|"]
    for limit in dict.fromkeys(run["limit_mb"] for run in runs):
        read = {run["way"]: run["read_bytes"] / 1e6 for run in runs if run["limit_mb"] == limit}
        lines.append(f"| {limit:,} | {read['ordinary']:,.0f} | {read['kept']:,.0f} |")
    return "\n".join(lines)


def clips() -> str:
    """Lay out how long 50 batches of clips took as a Markdown table."""
    runs = [run for run in json.loads((RESULTS / "clips.json").read_text())["runs"] if run["status"] == "ok"]
    times = ("seconds", "first_batch_seconds")
    lines = ["| | warm, s | first batch | cold, s | first batch | MB read |", "|---|---|---|---|---|---|"]
    for system in dict.fromkeys(run["system"] for run in sorted(runs, key=lambda run: str(run["system"]))):
        cells = [system]
        for medium, parts in (("warm", times), ("cold", (*times, "device_read_bytes"))):
            of_medium = [run for run in runs if (run["system"], run["medium"]) == (system, medium)]
            middle = [median(run[part] for run in of_medium) for part in parts]
            cells += [f"{value:.2f}" for value in middle[:2]] + [f"{value / 1e6:,.0f}" for value in middle[2:]]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def stores() -> str:
    """Lay out what loading from an object store came to as Markdown tables."""
    path = RESULTS / "stores.json"
    if not path.exists():
        return "not measured"
    result = json.loads(path.read_text())
    sweep, readers = result["sweep_images_per_second"], result["readers_images_per_second"]
    lines = ["Requests in flight, first byte after 100 ms:", "", "| in flight | " + " | ".join(sweep) + " |"]
    lines += [
        "|---" * (len(sweep) + 1) + "|",
        "| images/s | " + " | ".join(f"{rate:,.0f}" for rate in sweep.values()) + " |",
    ]
    lines += ["", "64 requests in flight, by the time to the first byte; *Little* is 64 by that time:", ""]
    lines += ["| added, ms | measured, ms | images/s | Little |", "|---|---|---|---|"]
    for row in result["latency_table"]:
        little = "" if row["little"] is None else f"{row['little']:,.0f}"
        first, rate = 1e3 * row["first_byte_seconds"], row["images_per_second"]
        lines.append(f"| {row['milliseconds']} | {first:.0f} | {rate:,.0f} | {little} |")
    lines += [
        "",
        "One epoch of the same photographs, 100 ms, 100 MB/s, two workers or threads:",
        "",
        "| reader | images/s |",
        "|---|---|",
    ]
    by_rate = sorted(readers.items(), key=lambda item: -(item[1] or 0))
    lines += [f"| {name} | {'did not finish' if rate is None else f'{rate:,.0f}'} |" for name, rate in by_rate]
    lines += ["", "Packed, 50 ms, 100 MB/s, with a cache; *found* is the share of bytes from the second epoch on:", ""]
    lines += ["| cache of | epoch 1 | 2 | 3, images/s | found |", "|---|---|---|---|---|"]
    for name in ("all", "half"):
        rates = " | ".join(f"{rate:,.0f}" for rate in result[f"cache_{name}_images_per_second"])
        lines.append(f"| {name} the data | {rates} | {result[f'cache_{name}_hits']:.1%} |")
    return "\n".join(lines)


def put(text: str, into: Path, name: str) -> None:
    """Put a table into a page between its two marks."""
    before, start, rest = into.read_text().partition(f"<!-- {name}: rows.py writes them -->\n")
    _, end, after = rest.partition(f"\n<!-- end of {name} -->")
    into.write_text(before + start + text + end + after)


def show() -> None:
    """Print the rows, and put all tables into this folder's README, but the rates into the project's."""
    put(table(), HERE / "README.md", "rows")
    put(memory(), HERE / "README.md", "memory")
    put(stores(), HERE / "README.md", "stores")
    put(clips(), HERE / "README.md", "clips")
    put(rates(), HERE.parent / "README.md", "rates")
    print(table())


def main() -> None:
    """Measure what is asked for, then show all rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="?")
    parser.add_argument("--only", action="append", choices=[*RACES, *SCRIPTS])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--show", action="store_true")
    args = parser.parse_args()
    if not args.show:
        if args.data is None:
            parser.error("DATA is needed to measure")
        if names := changed():
            parser.error(f"these files are not as in the revision, commit or stash them first: {', '.join(names)}")
        RESULTS.mkdir(exist_ok=True)
        for name in args.only or [*RACES, *SCRIPTS]:
            if needed := groups.lacking(CONTROLLERS[name]) if name in CONTROLLERS else None:
                sys.stderr.write(f"{name}: not measured: it needs {needed}\n")
            else:
                measure(name, args.data, args.rounds)
    show()


if __name__ == "__main__":
    main()
