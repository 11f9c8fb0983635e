"""What the consumer asks for: items in the sampler's order, as far ahead as may be.

A batch is asked for whole, item by item, and after its items itself: those are the steps, and they come back in that
order. Further batches are asked for as one is handed out, while fewer than two are outstanding, or fewer items than
twice the concurrency: then so many are under way even if as many others are done and wait for a slower one before them.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any, final

from penstock.pipeline.queue import Closed, OrderedQueue
from penstock.pipeline.worker import Failure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from concurrent.futures import Future
    from types import TracebackType

__all__ = ["UNBOUNDED", "Asking", "Step"]

UNBOUNDED = sys.maxsize  # the depth of queues that hold what was asked for, and nothing else


@final
@dataclass(slots=True, eq=False)
class Step:
    """An item of a batch, or at last the batch. Entered where its work is done: so it knows how long that takes."""

    batch: int  # which of the iteration
    place: int | None = None  # which item of the batch; None: the batch itself, to be put together
    index: Any = None
    pending: Future[Any] | None = None  # the item, where a loop fetches it
    began_seconds: float | None = None  # by the monotonic clock

    @property
    def ends_batch(self) -> bool:
        """Whether this is the batch itself."""
        return self.place is None

    def __enter__(self) -> None:
        self.began_seconds = time.monotonic()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if error is not None:
            _add_note(error, f"while {'putting together' if self.ends_batch else 'fetching'} {self}")

    def __str__(self) -> str:
        if self.ends_batch:
            return f"batch {self.batch}"
        return f"index {self.index!r}, item {self.place} of batch {self.batch}"


@final
class Asking:
    """The steps that are asked for and have not come back."""

    def __init__(self, order: Iterator[Sequence[Any]], begin: Callable[[Step], None], *, concurrency: int) -> None:
        self.queue = OrderedQueue(UNBOUNDED)  # from which they are worked on
        self._order = order
        self._begin = begin
        self._concurrency = concurrency
        self._outstanding: deque[Step] = deque()
        self._batches = 0  # of the outstanding ones
        self._asked = 0  # steps in all
        self._numbers = count()  # of batches

    def ask(self) -> None:
        """Ask for as many batches as may be outstanding."""
        try:
            while self._batches < 2 or self._items < 2 * self._concurrency:
                self._ask_for(next(self._order))
        except StopIteration:
            self._end()
        except Closed:
            pass  # the interpreter is being left
        except Exception as error:  # noqa: BLE001  whatever it is, it comes after the batches before it
            self._put(Failure(error))
            self._end()

    def taken(self, result: Any) -> Any:
        """Take note that the next step has come back; pass its result on."""
        if self._outstanding.popleft().ends_batch:
            self._batches -= 1
            self.ask()
        return result

    @property
    def next(self) -> Step | None:
        """The step that the consumer waits for."""
        return self._outstanding[0] if self._outstanding else None

    @property
    def _items(self) -> int:
        return len(self._outstanding) - self._batches

    def _ask_for(self, indices: Sequence[Any]) -> None:
        batch = next(self._numbers)
        for place, index in enumerate(indices):
            step = Step(batch, place, index)
            self._begin(step)
            self._outstanding.append(step)
            self._put(step)
        end = Step(batch)
        self._outstanding.append(end)
        self._batches += 1
        self._put(end)

    def _put(self, cargo: Step | Failure) -> None:
        self.queue.put(self._asked, cargo)
        self._asked += 1

    def _end(self) -> None:
        self._order = iter(())
        self.queue.finish(self._asked)


def _add_note(error: BaseException, note: str) -> None:
    if sys.version_info >= (3, 11):
        error.add_note(note)
    else:  # Python 3.10 keeps notes for whoever looks, and prints none
        error.__notes__ = [*getattr(error, "__notes__", ()), note]
