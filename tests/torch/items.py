"""Map-style datasets of indices, by threads and by coroutines; and such whose items come in the most awkward order."""

import asyncio
import itertools
import threading

DEADLINE_SECONDS = 20


class Items:
    """Items made of their indices, by threads."""

    def __init__(self, count, fetch=lambda index: index):
        self.count = count
        self.fetch = fetch

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return self.fetch(index)


class AsyncItems(Items):
    """The same by coroutines."""

    def __getitem__(self, index):
        raise AssertionError("its asynchronous twin is there to be asked")

    async def __getitem_async__(self, index):
        await asyncio.sleep(0)
        return self.fetch(index)


class Backwards(Items):
    """Items that come only when as many as `together` are under way, and then the last one first.

    Of each group of so many, in the order in which they begin, the last one ends first. `expect` says how many there
    will be: the last group may be smaller. `most` is how many were under way at most.
    """

    event = threading.Event

    def __init__(self, count, fetch=lambda index: index, *, together):
        super().__init__(count, fetch)
        self.together = together
        self.most = self.under_way = 0
        self.lock = threading.Lock()
        self.expect(count)

    def expect(self, total):
        self.total = total
        self.numbers = itertools.count()
        self.begun = [self.event() for _ in range(total)]
        self.ended = [self.event() for _ in range(total)]

    def begin(self):
        """Give the item's number, and what it waits for."""
        with self.lock:
            number = next(self.numbers)
            self.under_way += 1
            self.most = max(self.most, self.under_way)
        self.begun[number].set()
        last = min(self.total, (number // self.together + 1) * self.together) - 1
        return number, [*self.begun[number : last + 1], *self.ended[number + 1 : last + 1]]

    def end(self, number, index):
        with self.lock:
            self.under_way -= 1
        self.ended[number].set()
        return self.fetch(index)

    def __getitem__(self, index):
        number, events = self.begin()
        for event in events:
            assert event.wait(DEADLINE_SECONDS)
        return self.end(number, index)


class AsyncBackwards(Backwards):
    """The same by coroutines."""

    event = asyncio.Event

    async def __getitem_async__(self, index):
        number, events = self.begin()
        for event in events:
            await asyncio.wait_for(event.wait(), DEADLINE_SECONDS)
        return self.end(number, index)
