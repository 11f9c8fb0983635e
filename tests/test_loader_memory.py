"""The memory budget holds for all that a loader has in flight, whatever it reads and however much of it there is.

Beside the budget stand what does not depend on batches: the index (about sixty bytes per sample), the threads' own
memory, and the decoder's for one image per core. `BESIDE` is a bound on them for datasets as small as these.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

import penstock
from penstock.errors import UsageError
from penstock.loader import Loader
from penstock.transforms import RandomResizedCrop

BESIDE = 24_000_000
DECODED_WHOLE = 2 * 2 * 3_000_000  # of images that Pillow decodes: two at a time, each with a copy in another mode

MEASURE = """
import re, sys
from pathlib import Path
from penstock import WindowShuffle
from penstock.loader import Loader
from penstock.transforms import RandomResizedCrop

def peak_bytes():
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) * 1024

def load(path, shuffle, memory):
    transforms = RandomResizedCrop(160)
    with Loader(path, batch_size=8, transforms=transforms, threads=2, memory=memory, shuffle=shuffle) as loader:
        for batches in loader.epochs(2):
            for batch in batches:
                batch.images.sum()
        return loader.statistics().read_bytes

small, large, shuffle, memory = *sys.argv[1:4], int(sys.argv[4])
if shuffle == "window":
    shuffle = WindowShuffle(lanes=4, window_bytes=16_000_000, block_bytes=2_000_000)
load(small, False, None)  # whatever is allocated once
before = peak_bytes()
read_bytes = load(large, shuffle or False, memory)
print(peak_bytes() - before, read_bytes)
"""


@pytest.fixture(scope="module")
def raw(tmp_path_factory):
    """Raw images of 0.8 MB each: two of them, 40 and 160."""
    root = tmp_path_factory.mktemp("raw")
    for name, count in (("few", 2), ("some", 40), ("many", 160)):
        for number in range(count):
            path = root / name / "one" / f"{number:03d}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.new("RGB", (512, 512), (number, 2 * number % 256, 99)).save(path, compress_level=1)
        penstock.pack(root / name, root / f"{name}.pen", raw=True)
    return root


@pytest.fixture(scope="module")
def uneven(tmp_path_factory):
    """Five hundred images of 3 kB and, one after another among them, sixteen of 3 MB."""
    root = tmp_path_factory.mktemp("uneven")
    (root / "photos" / "one").mkdir(parents=True)
    for number in range(516):
        side = 1000 if 300 <= number < 316 else 32
        Image.new("RGB", (side, side), (number % 256, 7, 99)).save(root / "photos" / "one" / f"{number:03d}.bmp")
    penstock.pack(root / "photos", root / "photos.pen", seed=None)
    return root


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak is read from Linux's books")
@pytest.mark.parametrize("name", ["photos", "photos.pen"])
@pytest.mark.parametrize("shuffle", ["full", ""])
def test_images_of_very_different_sizes_stay_within_it_too(raw, uneven, name, shuffle):
    budget = 40_000_000  # the eight largest are 24 MB
    allocator = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "1000000"}
    command = [sys.executable, "-c", MEASURE, str(raw / "few.pen"), str(uneven / name), shuffle, str(budget)]
    done = subprocess.run(command, env=allocator, capture_output=True, text=True, timeout=120, check=True)
    assert int(done.stdout.split()[0]) < budget + BESIDE + DECODED_WHOLE


def test_a_budget_that_the_largest_batch_exceeds_is_refused(uneven):
    with pytest.raises(UsageError, match="memory budget is too small"):
        Loader(uneven / "photos.pen", batch_size=16, transforms=RandomResizedCrop(160), memory=40_000_000)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak is read from Linux's books")
@pytest.mark.parametrize("name", ["some", "many"])
@pytest.mark.parametrize(("shuffle", "budget"), [("full", 40_000_000), ("window", 60_000_000), ("", 40_000_000)])
def test_what_is_in_flight_stays_within_the_budget(raw, name, shuffle, budget):
    # What counts is what the loader holds. glibc would keep freed blocks of this size for later, unless told not to.
    allocator = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "1000000"}
    command = [sys.executable, "-c", MEASURE, str(raw / "few.pen"), str(raw / f"{name}.pen"), shuffle, str(budget)]
    done = subprocess.run(command, env=allocator, capture_output=True, text=True, timeout=120, check=True)
    peak_bytes, read_bytes = map(int, done.stdout.split())
    assert read_bytes == 2 * {"some": 40, "many": 160}[name] * (512 * 512 * 3 + 128)
    assert peak_bytes < budget + BESIDE
