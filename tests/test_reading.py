"""Reading: windows come whole and once, in memory that is enough for any of them, and batches find their samples."""

from collections import Counter
from itertools import islice

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock
from penstock.errors import FormatError, UsageError
from penstock.frame_choice import FrameChoice
from penstock.loader import Loader
from penstock.order import Extent, WindowShuffle
from penstock.order.share import Share
from penstock.order.window import WindowOrder
from penstock.reading import AHEAD, ALIGNMENT, Windows, slot_bytes, slots_needed
from penstock.transforms import ClipSample, RandomResizedCrop
from tests import folders
from tests.clip_datasets import records, write_dataset
from tests.datasets import COUNT, folder, masked, packed
from tests.images import jpeg

CROP = RandomResizedCrop(16)
SMALL = WindowShuffle(lanes=4, window_bytes=24_000, block_bytes=6_000)


def noise(side):
    """Pixels that no JPEG makes small."""
    return np.random.default_rng(side).integers(0, 256, (side, side, 3), np.uint8)


def windows_open(order, share, start=0):
    """For each batch of a rank, how many windows were begun by its end and have a sample left at its start."""
    positions = np.arange(share.rank, len(order), share.world_size)
    positions = positions[positions >= start]
    numbers, _ = order.windows(positions)
    first, last = {}, {}
    for at, number in enumerate(numbers.tolist()):
        first.setdefault(number, at // share.batch_size)
        last[number] = at // share.batch_size
    batches = -(-len(positions) // share.batch_size)
    return [sum(first[number] <= batch <= last[number] for number in first) for batch in range(batches)]


@given(
    lanes=st.sampled_from([1, 2, 4, 6, 16]),
    window=st.integers(1, 60),
    batch_size=st.integers(1, 70),
    n=st.integers(1, 1500),
    data=st.data(),
)
def test_there_are_slots_for_all_windows_that_can_be_open(lanes, window, batch_size, n, data):
    world_size = data.draw(st.sampled_from([size for size in range(1, lanes + 1) if lanes % size == 0]))
    start = data.draw(st.integers(0, n - 1))
    share = Share(batch_size, data.draw(st.integers(0, world_size - 1)), world_size)
    order = WindowOrder(n, key=3, lanes=lanes, window=window, block=5)
    assert max(windows_open(order, share, start), default=0) <= slots_needed(lanes // world_size, window, batch_size)


@pytest.mark.parametrize("dataset", [packed, folder, masked])
@given(lanes=st.integers(1, 8), window=st.integers(1, 50), block=st.integers(1, 50), key=st.integers(0, 99))
@settings(max_examples=40)
def test_any_window_fits_into_a_slot(dataset, lanes, window, block, key):
    opened = penstock.open(dataset())
    size = slot_bytes(opened, opened.fields, window=window, block=block)
    order = WindowOrder(len(opened), key, lanes=lanes, window=window, block=block)
    numbers = np.unique(order.windows(np.arange(len(opened)))[0]).tolist()
    for number in numbers:
        _, ids = order.contents(number)
        assert opened.plan_reading(ids, opened.fields, alignment=ALIGNMENT).reads.block_bytes <= size


@pytest.mark.parametrize("window", [1, 3, 7, 10, 11, 29])
def test_a_window_within_a_block_whose_middle_is_large_fits_into_a_slot(window, tmp_path):
    sides = [400 if 8 <= number < 18 else 16 for number in range(30)]
    files = {f"a/{number:02d}.jpg": jpeg(noise(side)) for number, side in enumerate(sides)}
    penstock.pack(folders.write(tmp_path / "photos", files), tmp_path / "p.pen", seed=None)
    opened = penstock.open(tmp_path / "p.pen")
    size = slot_bytes(opened, opened.fields, window=window, block=30)
    for start in range(30 - window + 1):
        ids = np.arange(start, start + window)
        assert opened.plan_reading(ids, opened.fields, alignment=ALIGNMENT).reads.block_bytes <= size


@pytest.fixture(scope="module")
def clips(tmp_path_factory):
    return write_dataset(tmp_path_factory.mktemp("clips") / "clips.pen", records())


@given(
    lanes=st.integers(1, 4),
    window=st.integers(1, 12),
    block=st.integers(1, 12),
    sampling=st.builds(ClipSample, st.integers(1, 9), st.integers(1, 7)),
    epoch=st.integers(0, 99),
)
@settings(max_examples=60)
def test_the_chosen_frames_of_any_window_fit_into_a_slot(clips, *, lanes, window, block, sampling, epoch):
    opened = penstock.open(clips)
    choice = FrameChoice({"clip": opened.column("clip")}, sampling, seed=1)
    size = slot_bytes(opened, opened.fields, window=window, block=block, frames=choice.frames)
    order = WindowOrder(len(opened), epoch, lanes=lanes, window=window, block=block)
    for number in np.unique(order.windows(np.arange(len(opened)))[0]).tolist():
        _, ids = order.contents(number)
        chosen = choice.of(ids, ids, epoch)
        assert opened.plan_reading(ids, opened.fields, chosen, alignment=ALIGNMENT).reads.block_bytes <= size


@pytest.mark.parametrize("lanes", [1, 16, 1_000_000])
def test_windows_take_no_more_memory_than_there_is_to_read(lanes):
    opened = penstock.open(packed())
    extent = Extent(len(opened), int(opened.column("image").length.sum()))
    order = WindowShuffle(lanes=lanes).order(extent, 0, 0)
    windows = Windows(opened, opened.fields, order, Share(256))
    slot = slot_bytes(opened, opened.fields, window=order.window_samples, block=order.block_samples)
    assert windows.arena_bytes <= slot * order.window_count() <= slot * COUNT


@pytest.mark.parametrize("world_size", [1, 2])
@pytest.mark.parametrize("shuffle", [WindowShuffle(lanes=64), WindowShuffle(lanes=4, window_bytes=80_000)])
def test_a_slot_for_each_window_suffices_for_epoch_after_epoch(shuffle, world_size):
    ranks = {"rank": 0, "world_size": world_size, "pad_last": True}
    with Loader(packed(), batch_size=7, transforms=CROP, shuffle=shuffle, **ranks) as loader:
        seen = [set(np.concatenate([batch.ids for batch in batches]).tolist()) for batches in loader.epochs(4)]
    assert [len(ids) for ids in seen] == [-(-COUNT // world_size)] * 4


shuffles = st.builds(
    WindowShuffle,
    lanes=st.just(4),
    window_bytes=st.integers(1, 100_000),
    block_bytes=st.integers(1, 30_000),
)


@pytest.mark.parametrize("dataset", [packed, folder, masked])
@pytest.mark.parametrize("last", [{}, {"drop_last": True}, {"pad_last": True}])
@given(world_size=st.sampled_from([1, 2, 4]), batch_size=st.integers(1, 13), shuffle=shuffles)
@settings(max_examples=8)
def test_batches_have_the_pixels_that_their_samples_have_by_themselves(dataset, last, world_size, batch_size, shuffle):
    for rank in range(world_size):
        with Loader(
            dataset(), batch_size=batch_size, transforms=CROP, shuffle=shuffle, rank=rank, world_size=world_size, **last
        ) as loader:
            for batch in islice(loader, 30):
                alone = loader.load(batch.ids)
                for mine, theirs in zip(parts(batch), parts(alone), strict=True):
                    np.testing.assert_array_equal(mine, theirs)


def parts(batch):
    return list(batch.values()) if hasattr(batch, "values") else list(batch)


def test_every_byte_is_asked_for_once_in_few_requests():
    for shuffle, requests in ((SMALL, COUNT), (WindowShuffle(lanes=1), 1)):
        with Loader(packed(), batch_size=5, transforms=CROP, shuffle=shuffle) as loader:
            list(loader)
            found = loader.statistics()
        stored = int(loader.dataset.column("image").length.sum())
        assert found.read_bytes == stored
        assert found.requests <= requests
        assert found.requested_bytes < stored + found.requests * 2 * ALIGNMENT + COUNT * 2048


def test_ranks_ask_for_no_more_than_their_shares():
    asked = []
    for rank in range(4):
        with Loader(packed(), batch_size=3, transforms=CROP, shuffle=SMALL, rank=rank, world_size=4) as loader:
            list(loader)
            asked.append(loader.statistics().read_bytes)
    stored = int(loader.dataset.column("image").length.sum())
    repeated = stored * 2 // COUNT
    assert stored <= sum(asked) <= stored + repeated
    assert max(asked) < 1.6 * stored / 4  # eleven or twelve photographs of several sizes


@pytest.fixture(scope="module")
def photographs(tmp_path_factory):
    """A packed dataset of 96 images of about 100 kB, so that what lies between samples weighs as it does in life."""
    root = tmp_path_factory.mktemp("photographs")
    for number in range(96):
        noise = np.random.default_rng(number).integers(0, 256, (240, 280, 3), dtype=np.uint8)
        path = root / "photos" / f"class{number % 3}" / f"{number:03d}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(jpeg(noise, quality=95))
    penstock.pack(root / "photos", root / "photos.pen", keep_bytes=True, shard_bytes=3_000_000)
    return root / "photos.pen"


@pytest.mark.parametrize("world_size", [1, 2, 4])
def test_a_rank_asks_the_medium_for_its_own_samples_and_a_twentieth_more_at_the_most(photographs, world_size):
    shuffle = WindowShuffle(lanes=4, window_bytes=4_000_000, block_bytes=500_000)
    shares = []
    for rank in range(world_size):
        options = {"batch_size": 4, "transforms": CROP, "shuffle": shuffle, "rank": rank, "world_size": world_size}
        with Loader(photographs, **options) as loader:
            ids = np.concatenate([batch.ids for batch in loader])
            share = int(loader.dataset.column("image").length[ids].sum())
            assert share <= loader.statistics().requested_bytes <= 1.05 * share
            shares.append(share)
            whole = int(loader.dataset.column("image").length.sum())
    assert sum(shares) == whole


def test_a_loader_that_is_left_early_reads_ahead_no_further_than_its_slots():
    with Loader(packed(), batch_size=2, transforms=CROP, shuffle=SMALL) as loader:
        next(iter(loader))
        assert loader.statistics().read_bytes < int(loader.dataset.column("image").length.sum())


def test_samples_that_cannot_be_read_are_skipped_one_by_one(tmp_path):
    penstock.pack(folder(), tmp_path / "cut.pen", shard_bytes=60_000)
    dataset = penstock.open(tmp_path / "cut.pen")
    column = dataset.column("image")
    shard = tmp_path / "cut.pen" / "shards" / "000001.tar"
    inside = np.flatnonzero(column.file == 1)
    shard.write_bytes(shard.read_bytes()[: int(column.offset[inside[-2]]) + 10])
    with Loader(dataset, batch_size=4, transforms=CROP, shuffle=SMALL, on_error="skip") as loader:
        ids = np.concatenate([batch.ids for batch in loader])
        assert Counter(ids.tolist()) == Counter(set(range(COUNT)) - set(inside[-2:].tolist()))
        assert loader.statistics().skipped == {"FormatError": 2}
    with (
        Loader(dataset, batch_size=4, transforms=CROP, shuffle=SMALL) as loader,
        pytest.raises(FormatError, match="the shard ends before the sample's bytes"),
    ):
        list(loader)


def test_windows_that_memory_has_no_room_for_are_refused():
    with pytest.raises(UsageError, match=r"(?s)windows, which take .*WindowShuffle\(window_bytes"):
        Loader(packed(), batch_size=4, transforms=CROP, shuffle="window", memory=200_000)


def test_iterations_one_after_another_have_the_same_memory():
    dataset = penstock.open(packed())
    order = WindowOrder(COUNT, key=1, lanes=4, window=3, block=2)
    windows = Windows(dataset, dataset.fields, order, Share(5))
    first = windows.reader(0)
    address = first.waited_for[0].memory.ctypes.data
    assert first.waited_for[0].slots == slots_needed(4, 3, 5) + AHEAD
    del first
    assert windows.reader(0).waited_for[0].memory.ctypes.data == address
