"""A fuzzing run of bounded time: python -m tests.native.fuzz.mutate --seconds 30 [--seed 1] [--artifact crash.bin]

Takes healthy JPEGs of every kind, damages them the way a fuzzer does (bits, bytes, lengths, markers; pieces copied, cut
or spliced from another file) and hands each to probe, tile_jpeg and decode_batch under random geometry. All that is
expected is that the process lives: run it under the sanitizers (`make check-native`). Before each input is tried it is
written to the artifact file, so a crash leaves behind what caused it; the seed is printed, and the same seed tries the
same inputs in the same order.
"""

from __future__ import annotations

import argparse
import mmap
import sys
import time
from pathlib import Path

import numpy as np
from tests.images import SAMPLING, cjpeg, photo
from tests.native.calls import decode
from tests.native.markers import put_together, take_apart

from penstock import _native

LARGEST = 1 << 20


def seeds() -> list[bytes]:
    """Small healthy files: every chroma mode, process, restart interval, tiled and not."""
    files = []
    for width, height in [(1, 1), (17, 9), (48, 40), (130, 33)]:
        pixels = photo(width, height)
        files += [cjpeg(pixels, sampling=mode, quality=70) for mode in SAMPLING]
        files.append(cjpeg(pixels[..., 0]))
        for options in (["-progressive"], ["-arithmetic"], ["-restart", "2B"], ["-progressive", "-restart", "1"]):
            files.append(cjpeg(pixels, options=options))
    return files + [_native.tile_jpeg(file)[0] for file in files]


def flip_bit(random: np.random.Generator, data: bytearray, at: int, _: list[bytes]) -> None:
    """Turn one bit over."""
    data[at] ^= 1 << int(random.integers(8))


def set_byte(random: np.random.Generator, data: bytearray, at: int, _: list[bytes]) -> None:
    """Write a byte, often one of those at an edge."""
    data[at] = int(random.choice([0, 1, 0x7F, 0x80, 0xFE, 0xFF, int(random.integers(256))]))


def set_length(random: np.random.Generator, data: bytearray, at: int, _: list[bytes]) -> None:
    """Write two bytes, as lengths and sizes are."""
    value = int(random.choice([0, 1, 2, 8, 0x7FFF, 0xFFFF, int(random.integers(65536))]))
    data[at : at + 2] = value.to_bytes(2, "big")


def leave_out(random: np.random.Generator, data: bytearray, at: int, _: list[bytes]) -> None:
    """Remove a few bytes."""
    del data[at : at + int(random.integers(1, 40))]


def put_in(random: np.random.Generator, data: bytearray, at: int, _: list[bytes]) -> None:
    """Insert a few bytes of noise."""
    data[at:at] = random.integers(0, 256, int(random.integers(1, 40)), dtype=np.uint8).tobytes()


def put_marker(random: np.random.Generator, data: bytearray, at: int, _: list[bytes]) -> None:
    """Insert a marker."""
    data[at:at] = bytes([0xFF, int(random.choice([*range(0xC0, 0xE0), 0xFE]))])


def splice(random: np.random.Generator, data: bytearray, at: int, files: list[bytes]) -> None:
    """Go on as another file."""
    other = files[random.integers(len(files))]
    data[at:] = other[int(random.integers(len(other))) :]


def repeat(random: np.random.Generator, data: bytearray, at: int, _: list[bytes]) -> None:
    """Copy a piece to another place."""
    start = int(random.integers(len(data)))
    data[at:at] = data[start : start + int(random.integers(1, 200))]


def cut(_random: np.random.Generator, data: bytearray, at: int, _: list[bytes]) -> None:
    """End here."""
    del data[at:]


DAMAGES = (flip_bit, set_byte, set_length, leave_out, put_in, put_marker, splice, repeat, cut)


def mutate(random: np.random.Generator, files: list[bytes]) -> bytes:
    """Make a damaged file."""
    data = bytearray(files[random.integers(len(files))])
    if random.random() < 0.15:
        data = bytearray(shuffled(random, bytes(data)))
    for _ in range(int(random.choice([1, 1, 1, 2, 3, 8]))):
        if data:
            DAMAGES[random.integers(len(DAMAGES))](random, data, int(random.integers(len(data))), files)
    return bytes(data[:LARGEST])


def shuffled(random: np.random.Generator, data: bytes) -> bytes:
    """A healthy file whose segments are swapped, left out or doubled."""
    segments = take_apart(data)
    for _ in range(int(random.integers(1, 4))):
        one, other = (int(i) for i in random.integers(len(segments), size=2))
        kind = int(random.integers(3))
        if kind == 0:
            segments[one], segments[other] = segments[other], segments[one]
        elif kind == 1:
            segments.insert(one, segments[other])
        elif len(segments) > 1:
            del segments[one]
    return put_together(segments)


def try_one(random: np.random.Generator, data: bytes) -> str:
    """Hand the data to every door of the native core; what decode_batch said, for the summary."""
    try:
        header = _native.probe(data)
    except ValueError:
        width, height = 48, 40
    else:
        width, height = max(header["width"], 1), max(header["height"], 1)
    tiled, _ = _native.tile_jpeg(data)
    x0, y0 = int(random.integers(width)), int(random.integers(height))
    box = (x0, y0, int(random.integers(x0 + 1, width + 1)), int(random.integers(y0 + 1, height + 1)))
    region = (
        box
        if random.random() < 0.5
        else (x0 - 5.5, y0 - 3.25, x0 + random.uniform(1, 300), y0 + random.uniform(1, 300))
    )
    decoded = decode(
        [data, tiled],
        sizes=np.zeros((2, 2), np.int32),
        regions=[region] * 2,
        clips=[box if random.random() < 0.7 else (0, 0, width, height)] * 2,
        flips=[int(random.integers(2))] * 2,
        size=(int(random.integers(1, 50)), int(random.integers(1, 50))),
        channels_first=bool(random.integers(2)),
        frames=(None, 1, 2)[int(random.integers(3))],
        orientations=random.integers(1, 9, 2).astype(np.uint8) if width == height else None,
        scaling=bool(random.integers(2)),
        max_pixels=1 << 22,
    )
    return "pixels" if 0 not in decoded.status else {_native.WARNED: "warned"}.get(decoded.status[0], "error")


def main() -> None:
    """Fuzz until the time is over."""
    parser = argparse.ArgumentParser(description="Fuzz the native core for a bounded time.")
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--artifact", type=Path, default=Path("build/fuzz-input.bin"))
    arguments = parser.parse_args()
    seed = time.time_ns() % 2**32 if arguments.seed is None else arguments.seed
    random = np.random.default_rng(seed)
    sys.stderr.write(f"fuzzing for {arguments.seconds:g} s with --seed {seed}, input kept in {arguments.artifact}\n")
    files = seeds()
    arguments.artifact.parent.mkdir(parents=True, exist_ok=True)
    outcomes: dict[str, int] = {}
    with arguments.artifact.open("wb+") as file:
        file.truncate(LARGEST + 8)
        with mmap.mmap(file.fileno(), 0) as kept:  # survives the death of the process at the price of a copy
            deadline = time.monotonic() + arguments.seconds
            while time.monotonic() < deadline:
                data = mutate(random, files)
                kept[:8] = len(data).to_bytes(8, "little")
                kept[8 : 8 + len(data)] = data
                outcome = try_one(random, data)
                outcomes[outcome] = outcomes.get(outcome, 0) + 1
    arguments.artifact.unlink()
    sys.stderr.write(f"{sum(outcomes.values())} inputs: {outcomes}\n")


if __name__ == "__main__":
    main()
