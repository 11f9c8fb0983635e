"""Any map-style dataset, concurrently: the batches of a stock DataLoader, whatever comes first and whatever fails."""

import asyncio
import threading
import weakref
from collections import Counter

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.data import DataLoader, IterableDataset, RandomSampler, Subset, SubsetRandomSampler, TensorDataset

import penstock.pipeline.loop
import penstock.torch.concurrent
from penstock.errors import StalledError, UsageError
from penstock.torch import ConcurrentLoader
from penstock.torch.fetching import ByLoop
from tests.torch.items import DEADLINE_SECONDS, AsyncBackwards, AsyncItems, Backwards, Items

BOTH = pytest.mark.parametrize("kind", [Items, AsyncItems])
BOTH_BACKWARDS = pytest.mark.parametrize("kind", [Backwards, AsyncBackwards])


@pytest.fixture(autouse=True)
def _no_thread_is_left_behind():
    yield
    ours = [thread.name for thread in threading.enumerate() if thread.name.startswith("penstock-")]
    assert set(ours) <= {"penstock-requests"}, "that one serves object stores, and stays as long as the process"


def plain(batches):
    """Batches as lists of indices, or as indices."""
    return [batch.tolist() if isinstance(batch, torch.Tensor) else batch for batch in batches]


@st.composite
def settings(draw):
    """A number of items, and a function that makes DataLoader's options, anew and alike for whoever asks."""
    count, seed = draw(st.integers(1, 24)), draw(st.integers(0, 5))
    way = draw(st.sampled_from(["in order", "shuffled", "repeated", "some", "listed"]))
    one = st.integers(0, count - 1)
    listed = draw(st.lists(st.lists(one, max_size=6), max_size=8))
    some = draw(st.lists(one, min_size=1, max_size=30))
    sizes = {"batch_size": draw(st.none() | st.integers(1, 9))}
    if sizes["batch_size"] is not None:
        sizes["drop_last"] = draw(st.booleans())

    def options():
        generator = torch.Generator().manual_seed(seed)
        given = {
            "in order": {"shuffle": False},
            "shuffled": {"shuffle": True},
            "repeated": {"sampler": RandomSampler(range(count), True, len(some), generator)},
            "some": {"sampler": SubsetRandomSampler(some, generator)},
            "listed": {"batch_sampler": listed, "collate_fn": list},  # empty batches among them
        }[way]
        return {"generator": generator, **({} if way == "listed" else sizes), **given}

    return count, options


@given(settings(), st.integers(1, 9), st.integers(1, 3), st.sampled_from([Backwards, AsyncBackwards]))
def test_every_batch_is_the_one_of_a_stock_data_loader_whatever_comes_first(setting, concurrency, epochs, kind):
    """Exactly the sampler's indices, in its order, batch by batch, epoch by epoch."""
    count, options = setting
    dataset = kind(count, together=concurrency)
    stock, loader = (
        DataLoader(Items(count), **options()),
        ConcurrentLoader(dataset, concurrency=concurrency, **options()),
    )
    assert len(loader) == len(stock)
    for _ in range(epochs):
        expected = plain(stock)
        dataset.expect(sum(len(batch) if isinstance(batch, list) else 1 for batch in expected))
        assert plain(loader) == expected
    assert dataset.most <= concurrency


@BOTH
def test_without_a_generator_torchs_own_seed_decides_as_it_does_in_a_stock_data_loader(kind):
    torch.manual_seed(5)
    stock = DataLoader(Items(40), batch_size=7, shuffle=True)
    expected, after = plain(stock), torch.rand(1)
    torch.manual_seed(5)
    assert plain(ConcurrentLoader(kind(40), batch_size=7, shuffle=True)) == expected
    assert torch.rand(1) == after


@BOTH_BACKWARDS
@pytest.mark.parametrize("batch_size", [1, 3, 6, 12])
def test_as_many_items_as_concurrency_says_are_under_way_within_a_batch_and_across_batches(kind, batch_size):
    dataset = kind(48, together=6)  # none of its items comes before six are under way
    loader = ConcurrentLoader(dataset, batch_size=batch_size, concurrency=6)
    assert [index for batch in plain(loader) for index in batch] == list(range(48))
    assert dataset.most == 6


@BOTH
@pytest.mark.parametrize(("batch_size", "ahead"), [(1, 8), (3, 9), (4, 8), (100, 200)])
def test_no_more_is_asked_for_than_may_be_outstanding(kind, batch_size, ahead):
    """Fewer than twice the concurrency and one more batch, or two batches."""
    asked = []

    class Noting:
        def __iter__(self):
            for index in range(1000):
                asked.append(index)
                yield index

    batches = iter(ConcurrentLoader(kind(1000), batch_size=batch_size, sampler=Noting(), concurrency=4))
    for taken in (1, 2, 3):
        next(batches)
        assert len(asked) == taken * batch_size + ahead


def test_the_same_threads_serve_all_batches():
    threads = Counter()

    def fetch(index):
        threads[threading.get_ident()] += 1
        return index

    assert len(list(ConcurrentLoader(Items(300, fetch), batch_size=2, concurrency=4))) == 150
    assert len(threads) <= 4
    assert threading.get_ident() not in threads


@BOTH
def test_batches_are_put_together_in_one_thread_that_is_not_the_consumers(kind):
    threads = set()

    def collate(items):
        threads.add(threading.get_ident())
        return items

    assert plain(ConcurrentLoader(kind(5), batch_size=2, collate_fn=collate)) == [[0, 1], [2, 3], [4]]
    assert len(threads) == 1
    assert threading.get_ident() not in threads


def test_tensors_dicts_and_subsets_are_collated_as_torch_does():
    pairs = TensorDataset(torch.arange(12).reshape(6, 2), torch.arange(6))
    subset = Subset(pairs, [4, 0, 3])
    (images, labels), *_ = ConcurrentLoader(subset, batch_size=3)
    assert (images.tolist(), labels.tolist()) == ([[8, 9], [0, 1], [6, 7]], [4, 0, 3])
    (batch,) = ConcurrentLoader(Items(2, lambda index: {"id": index, "name": str(index)}), batch_size=2)
    assert (batch["id"].tolist(), batch["name"]) == ([0, 1], ["0", "1"])


def test_batches_are_page_locked_where_there_is_a_gpu_and_that_is_refused_elsewhere():
    options = {"batch_size": 2, "pin_memory": True}
    if torch.cuda.is_available():
        assert all(batch.is_pinned() for batch in ConcurrentLoader(Items(6), **options))
    else:
        with pytest.raises(UsageError, match="needs a GPU"):
            ConcurrentLoader(Items(6), **options)


def test_batches_are_page_locked_by_torch_after_they_are_put_together(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(penstock.torch.concurrent, "page_locked", lambda batch: ("page-locked", batch))
    loader = ConcurrentLoader(Items(3), batch_size=2, collate_fn=list, pin_memory=True)
    assert list(loader) == [("page-locked", [0, 1]), ("page-locked", [2])]


@BOTH
def test_nothing_starts_before_the_first_batch_is_asked_for(kind):
    fetched = []
    loader = ConcurrentLoader(kind(1000, fetched.append), batch_size=2, collate_fn=list)
    before = threading.active_count()
    batches = iter(loader)
    assert (fetched, threading.active_count()) == ([], before)
    next(batches)
    assert fetched
    assert threading.active_count() > before


@BOTH
def test_a_batch_that_is_dropped_is_gone(kind):
    class Batch(list):
        pass

    seen = []
    for batch in ConcurrentLoader(kind(20), batch_size=2, collate_fn=Batch):
        assert all(earlier() is None for earlier in seen)
        seen.append(weakref.ref(batch))
        del batch
    assert len(seen) == 10


def failing_at(*indices, error=KeyError):
    def fetch(index):
        if index in indices:
            raise error(f"no item {index}")
        return index

    return fetch


@BOTH_BACKWARDS
@pytest.mark.parametrize("error", [KeyError, KeyboardInterrupt])
def test_the_first_error_by_order_is_raised_in_its_place_and_names_its_index_and_batch(kind, error):
    """Index 9 fails before 7 does, and both before anything of the batches in front of them is there."""
    dataset = kind(12, failing_at(7, 9, error=error), together=12)
    batches, seen = iter(ConcurrentLoader(dataset, batch_size=3, concurrency=12)), []
    with pytest.raises(error, match="no item 7") as raised:
        seen.extend(batches)
    assert plain(seen) == [[0, 1, 2], [3, 4, 5]]
    assert raised.value.__notes__ == ["while fetching index 7, item 1 of batch 2"]
    assert raised.traceback[-1].name == "fetch"
    assert list(batches) == []


@BOTH
def test_an_item_that_raises_stop_iteration_does_not_end_the_epoch_in_silence(kind):
    with pytest.raises(RuntimeError, match="raised StopIteration"):
        list(ConcurrentLoader(kind(12, failing_at(7, error=StopIteration))))


@BOTH
def test_an_error_of_collate_fn_names_the_batch(kind):
    loader = ConcurrentLoader(kind(12, lambda index: torch.zeros(1 + index // 10)), batch_size=3)
    seen = []
    with pytest.raises(RuntimeError, match="equal size") as raised:
        seen.extend(loader)
    assert len(seen) == 3
    assert raised.value.__notes__ == ["while putting together batch 3"]


@BOTH
def test_an_error_of_the_sampler_comes_after_its_batches(kind):
    def indices():
        yield from range(5)
        raise ValueError("the sampler broke")

    seen = []
    with pytest.raises(ValueError, match="the sampler broke"):
        seen.extend(ConcurrentLoader(kind(9), batch_size=2, sampler=indices()))
    assert plain(seen) == [[0, 1], [2, 3]]


def test_an_asynchronous_twin_that_cannot_be_awaited_is_an_error():
    class Plain(Items):
        def __getitem_async__(self, index):
            return index

    with pytest.raises(TypeError, match="await"):
        list(ConcurrentLoader(Plain(3)))


class Hanging(Items):
    """Items of which the fourth hangs until the gate is opened."""

    def __init__(self, count):
        super().__init__(count)
        self.gate = threading.Event()

    def __getitem__(self, index):
        assert index != 3 or self.gate.wait(DEADLINE_SECONDS)
        return index


class AsyncHanging(Hanging):
    async def __getitem_async__(self, index):
        if index == 3:
            await asyncio.Event().wait()
        return index


def ended_threads():
    """Wait for threads that were left alone, because they hung. The one of requests stays with a process for good."""
    for thread in threading.enumerate():
        if thread.name.startswith("penstock-") and thread.name != "penstock-requests":
            thread.join(DEADLINE_SECONDS)


@pytest.mark.parametrize("kind", [Hanging, AsyncHanging])
def test_an_item_that_hangs_is_named_after_the_deadline(kind):
    dataset = kind(8)
    batches = iter(ConcurrentLoader(dataset, batch_size=2, concurrency=2, deadline_seconds=0.2))
    assert next(batches).tolist() == [0, 1]
    with pytest.raises(StalledError, match=r"^index 3, item 1 of batch 1, did not come: got nothing after \d+\.\d s, "):
        next(batches)
    dataset.gate.set()
    ended_threads()


@BOTH
def test_a_collate_fn_that_hangs_is_named_after_the_deadline(kind):
    gate = threading.Event()
    loader = ConcurrentLoader(kind(8), batch_size=2, collate_fn=lambda _: gate.wait(20), deadline_seconds=0.2)
    with pytest.raises(StalledError, match=r"^collate_fn did not put batch 0 together: got nothing after"):
        list(loader)
    gate.set()
    ended_threads()


def test_a_deadline_that_passes_within_a_dataset_is_the_datasets():
    def fetch(index):
        raise StalledError("the server slept")

    with pytest.raises(StalledError, match="the server slept") as raised:
        list(ConcurrentLoader(Items(3, fetch)))
    assert raised.value.__notes__ == ["while fetching index 0, item 0 of batch 0"]


class Session(AsyncItems):
    """A dataset with a client that belongs to one loop, opened and closed."""

    def __init__(self, count, fetch=lambda index: index):
        super().__init__(count, fetch)
        self.seen, self.client = [], None

    async def __aenter__(self):
        self.client = asyncio.get_running_loop()
        self.seen.append("opened")

    async def __aexit__(self, *_):
        self.client = None
        self.seen.append("closed")

    async def __getitem_async__(self, index):
        assert self.client is asyncio.get_running_loop()
        return await super().__getitem_async__(index)


def test_a_dataset_that_is_an_asynchronous_context_is_entered_for_each_iteration_and_left_however_it_ends():
    dataset = Session(10)
    loader = ConcurrentLoader(dataset, batch_size=4)
    for _ in range(2):
        assert plain(loader) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    for _ in loader:
        break
    dataset.fetch = failing_at(5)
    with pytest.raises(KeyError):
        list(loader)
    assert dataset.seen == ["opened", "closed"] * 4


def test_a_dataset_that_is_left_slowly_is_not_entered_again_before_that(monkeypatch):
    class Slow(Session):
        gate = threading.Event()

        async def __aexit__(self, *_):
            await asyncio.to_thread(self.gate.wait, DEADLINE_SECONDS)
            await super().__aexit__()

    monkeypatch.setattr(penstock.pipeline.loop, "LEAVING_SECONDS", 0.01)
    leave, dataset = ByLoop.leave, Slow(10)
    monkeypatch.setattr(ByLoop, "leave", lambda fetching: (dataset.gate.set(), leave(fetching)))
    loader = ConcurrentLoader(dataset, batch_size=5)
    for _ in range(2):
        assert plain(loader) == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]
    ended_threads()
    assert dataset.seen == ["opened", "closed"] * 2


def test_a_dataset_needs_no_items_but_asynchronous_ones():
    class Only:
        def __len__(self):
            return 3

        async def __getitem_async__(self, index):
            return index

    assert plain(ConcurrentLoader(Only(), batch_size=2)) == [[0, 1], [2]]


@BOTH
def test_a_deadline_may_be_infinite(kind):
    assert plain(ConcurrentLoader(kind(3), batch_size=2, deadline_seconds=float("inf"))) == [[0, 1], [2]]


@pytest.mark.parametrize("inner", [Items, AsyncItems])
@BOTH
def test_a_loader_within_the_items_of_a_loader(kind, inner):
    def total(index):
        return sum(batch.sum() for batch in ConcurrentLoader(inner(index + 2), batch_size=2, concurrency=2))

    assert plain(ConcurrentLoader(kind(4, total), batch_size=4, concurrency=2)) == [[1, 3, 6, 10]]
    for _ in ConcurrentLoader(kind(40, total), concurrency=2):
        break
    ended_threads()


@BOTH
def test_a_batch_sampler_is_taken_as_it_is_and_epoch_after_epoch_anew(kind):
    class Growing:
        """Batches of tensors, tuples and ranges, more of them in each epoch."""

        epoch = 0

        def __iter__(self):
            self.epoch += 1
            for number in range(self.epoch):
                yield (torch.arange(number, number + 2), (number,), range(3))[number % 3]

    loader = ConcurrentLoader(kind(9, int), batch_sampler=Growing())
    found = [plain(loader) for _ in range(4)]
    assert found[0] == [[0, 1]]
    assert found[3] == [[0, 1], [1], [0, 1, 2], [3, 4]]


def test_a_context_that_cannot_be_entered_is_an_error_of_the_first_batch():
    class Refused(Session):
        async def __aenter__(self):
            raise ConnectionError("nobody is there")

    with pytest.raises(ConnectionError, match="nobody is there"):
        next(iter(ConcurrentLoader(Refused(3))))


@BOTH
def test_two_iterations_at_a_time_do_not_disturb_each_other(kind):
    loader = ConcurrentLoader(kind(20), batch_size=3)
    assert [(one.tolist(), other.tolist()) for one, other in zip(loader, loader, strict=True)] == [
        (batch, batch) for batch in plain(loader)
    ]


class Stream(IterableDataset):
    def __iter__(self):
        return iter(range(3))


@pytest.mark.parametrize("dataset", [Stream(), iter(range(3)), {1, 2}])
def test_a_dataset_without_indices_is_refused(dataset):
    with pytest.raises(UsageError, match="items are fetched by their indices: got a dataset of type"):
        ConcurrentLoader(dataset)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"concurrency": 0}, "concurrency: got 0, expected a whole number, at least 1"),
        ({"concurrency": 1.5}, r"concurrency: got 1\.5"),
        ({"deadline_seconds": 0}, "deadline_seconds: got 0, expected seconds, more than 0"),
        ({"deadline_seconds": "9"}, "deadline_seconds: got '9'"),
        ({"deadline_seconds": float("nan")}, "deadline_seconds: got nan"),
        ({"shuffle": True, "sampler": [0]}, "mutually exclusive"),
        ({"batch_size": 0}, "batch_size should be a positive integer"),
    ],
)
def test_options_that_cannot_be_are_refused(options, said):
    with pytest.raises(ValueError, match=said):
        ConcurrentLoader(Items(3), **options)


def test_it_says_what_it_does():
    assert repr(ConcurrentLoader([1, 2])) == "ConcurrentLoader([1, 2], 64 items at a time, by threads)"
    assert repr(ConcurrentLoader(AsyncItems(1), concurrency=5)).endswith(", 5 items at a time, on one event loop)")
