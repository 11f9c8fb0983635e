"""Which errors of a store pass when one tries again, and how long to wait before that.

An answer that will always be the same (no such object, not allowed) is final. Everything that a network or a busy
server does (refused, reset, cut short, garbled, 5xx) is tried again after a wait that doubles each time and is drawn at
random below that, so that those who failed together do not come again together.

What an error says is told in our words, and of the server's nothing but its status and its code: its text may hold what
the request was signed with.
"""

from __future__ import annotations

import errno
import re
from enum import Enum

from penstock.errors import StorageError

__all__ = ["Garbled", "Verdict", "ends_before", "explained", "judged", "wait_seconds"]

FIRST_SECONDS, MOST_SECONDS = 0.1, 8.0
_STATUS = re.compile(r"status code: (\d{3})([^:\n]*)")
_CODE = re.compile(r"<Code>(\w+)</Code>")
_TRIED_AGAIN = {408, 425}  # of all 4xx; 429 is a matter of pace
_BUSY = ("the store answers with an error", "it may be too busy: make fewer requests at a time")
_ENDED = (
    "the object ends before the bytes that were asked for",
    "it was replaced by a shorter one: restore it, or make the index or the dataset anew",
)
_ANSWERS = {416: _ENDED, 429: _BUSY, 503: _BUSY}


class Verdict(Enum):
    """What to do about an error."""

    AGAIN = "try again"
    SLOWER = "try again, and slow down"
    FINAL = "give up"
    NO_RANGES = "ask for the whole object"


class Garbled(Exception):  # noqa: N818  tried again, and told in other words
    """An answer whose body is not what its head says, or not what was asked for."""


def wait_seconds(attempt: int, draw: float) -> float:
    """Say how long to wait after an attempt (0: the first) has failed, by a draw from 0 to 1."""
    most = min(FIRST_SECONDS * 2.0 ** min(attempt, 32), MOST_SECONDS)
    return most * (0.25 + 0.75 * draw)


def judged(error: BaseException) -> Verdict:
    """Say what to do about an error of obstore, or of ours."""
    if isinstance(error, (Garbled, TimeoutError)) or type(error).__name__ == "TimeoutError":
        return Verdict.AGAIN
    name, text = type(error).__name__, str(error)
    if "non-partial response" in text:
        return Verdict.NO_RANGES
    status = _status(text)
    if status in {429, 503}:
        return Verdict.SLOWER
    if status is not None and 400 <= status < 500 and status not in _TRIED_AGAIN:
        return Verdict.FINAL
    return Verdict.AGAIN if name == "GenericError" else Verdict.FINAL


def ends_before(error: BaseException) -> bool:
    """Tell whether an error says that the object ends before the bytes that were asked for."""
    return _status(str(error)) == 416


def explained(error: BaseException, file: str, *, attempts: int = 1) -> StorageError:
    """Say an error of obstore, or of ours, as a StorageError about a file."""
    if isinstance(error, StorageError):
        return error
    text = str(error)
    status, code = _STATUS.search(text), _CODE.search(text)
    number = None if status is None else int(status[1])
    what, hint = "the store could not be asked", "check the endpoint and the network"
    if isinstance(error, FileNotFoundError):
        what, hint = "there is no such object", "check bucket and path; an object may have been deleted meanwhile"
    elif number in {401, 403} or type(error).__name__ in {"PermissionDeniedError", "UnauthenticatedError"}:
        what = "the store does not allow it"
        hint = "check the credentials; for a public bucket say Access(anonymous=True)"
    elif "non-partial response" in text:
        what = "the server answers a request for a range with something else"
        hint = "`penstock probe` tells what an endpoint can do; copy the dataset to another, or to a disk"
    elif isinstance(error, Garbled):
        what, hint = str(error), "something between here and the store changes what is sent"
    elif isinstance(error, TimeoutError) or "operation timed out" in text:
        what = "the store did not answer in time"
        hint = "raise the limits with Access(requests=Requests(attempt_seconds=…, deadline_seconds=…))"
    elif number is not None:
        what, hint = _ANSWERS.get(number, ("the store answers with an error", hint))
    elif type(error).__name__ not in {"GenericError", "BaseError"}:
        what = f"the store could not be asked: {type(error).__name__}"
    told = [] if number is None or status is None else [f"status {number}{status[2].rstrip()}"]
    told += [] if code is None else [code[1]]
    told += [f"{attempts} attempts"] if attempts > 1 else []
    found = StorageError(what, file=file, got=", ".join(told) or None, hint=hint)
    if isinstance(error, FileNotFoundError):
        found.errno = errno.ENOENT
    return found


def _status(text: str) -> int | None:
    found = _STATUS.search(text)
    return None if found is None else int(found[1])
