"""The contract of an endpoint: what is asked, what S3 answers, and what follows from other answers. Pure.

A rule says what is expected and what follows for penstock, either way. A judge looks at answers and says whether they
are as expected, and in a few words what was seen. What they make together is a check.

What is seen is told from statuses, from error codes and from headers that are looked for by name, never from the rest
of an answer: servers repeat in it what they were asked, signature and all.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from enum import Enum
from html import unescape
from typing import TYPE_CHECKING, NamedTuple, final

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from penstock.bench.endpoint.asking import Answer

__all__ = [
    "Check",
    "NotAsked",
    "Page",
    "Rule",
    "Seen",
    "Verdict",
    "judge_anybody",
    "judge_checksum",
    "judge_order",
    "judge_pages",
    "judge_range",
    "judge_status",
]

CHECKSUMS = re.compile(r"x-amz-checksum-(?!type)\w+|x-amz-content-sha256")
_KEY = re.compile(r"<Contents>.*?<Key>(.*?)</Key>.*?</Contents>", re.DOTALL)
_FOLDER = re.compile(r"<CommonPrefixes>\s*<Prefix>(.*?)</Prefix>\s*</CommonPrefixes>", re.DOTALL)
_TOKEN = re.compile(r"<NextContinuationToken>(.*?)</NextContinuationToken>", re.DOTALL)


class NotAsked(Exception):  # noqa: N818  no error: the reason why a check is left out
    """A question that was not put."""


class Verdict(Enum):
    """What came of a check."""

    HOLDS = "holds"
    DIFFERS = "differs"
    NOT_ASKED = "not asked"


class Seen(NamedTuple):
    """What answers are, judged."""

    is_expected: bool
    text: str


@final
@dataclass(frozen=True, slots=True)
class Check:
    """A rule, and what came of it."""

    name: str
    verdict: Verdict
    seen: str
    """Where it was not asked: why."""
    expected: str
    means: str
    is_needed: bool
    """Whether penstock depends on it."""

    @property
    def fails(self) -> bool:
        """Whether penstock cannot do here what it does."""
        return self.is_needed and self.verdict is Verdict.DIFFERS


@final
@dataclass(frozen=True, slots=True)
class Rule:
    """What S3 does, and what it means for penstock."""

    name: str
    expected: str
    kept: str
    """What follows where it is so."""
    broken: str
    """What follows where it is not."""
    is_needed: bool = False

    def judged(self, seen: Seen) -> Check:
        """Make the check of what was seen."""
        verdict = Verdict.HOLDS if seen.is_expected else Verdict.DIFFERS
        means = self.kept if seen.is_expected else self.broken
        return Check(self.name, verdict, seen.text, self.expected, means, self.is_needed)

    def check(self, look: Callable[[], Seen]) -> Check:
        """Look, and make the check of what is seen, or of why nothing is."""
        try:
            return self.judged(look())
        except NotAsked as why:
            return self.not_asked(str(why))

    def not_asked(self, why: str) -> Check:
        """Make the check of what was not asked."""
        means = "Nothing is known about it."
        return Check(self.name, Verdict.NOT_ASKED, why, self.expected, means, self.is_needed)


def judge_status(answer: Answer, *expected: int) -> Seen:
    """Judge an answer by its status."""
    return Seen(answer.status in expected, str(answer))


def judge_range(answer: Answer, start: int, stop: int, *, size: int, known: bytes) -> Seen:
    """Judge what came for the bytes from `start` to `stop` of an object that begins with `known`."""
    text = str(answer)
    if answer.status != 206:
        why = {None: "", 200: ": the range" if len(answer.body) == stop - start else ": not the range"}
        return Seen(False, text + why.get(answer.status, ""))
    place = answer.header("content-range")
    if place != f"bytes {start}-{stop - 1}/{size}":
        return Seen(False, f"{text} without Content-Range" if place is None else text)
    if len(answer.body) != stop - start:
        return Seen(False, f"{text}, but {len(answer.body)} bytes")
    if stop <= len(known) and answer.body != known[start:stop]:
        return Seen(False, f"{text}, but other bytes")
    return Seen(True, text)


def judge_checksum(part: Answer, whole: Answer) -> Seen:
    """Judge the checksums that came with a part of an object, beside those that came with all of it."""
    sent = {name.lower(): value for name, value in part.headers if CHECKSUMS.fullmatch(name.lower())}
    wrong = sorted(name for name, value in sent.items() if whole.header(name) == value)
    if part.status not in {200, 206}:
        return Seen(False, str(part))
    if wrong:
        return Seen(False, f"{wrong[0]} of the whole object")
    return Seen(True, ", ".join(sorted(sent)) or "none")


def judge_anybody(answer: Answer) -> Seen:
    """Judge what an unsigned request is answered: both a refusal and the object are as they may be."""
    told = {200: "allowed", 206: "allowed", 401: "refused", 403: "refused"}.get(answer.status or 0)
    return Seen(told is not None, str(answer) if told is None else f"{told} ({answer})")


@final
@dataclass(frozen=True, slots=True)
class Page:
    """A page of a listing."""

    keys: tuple[str, ...]
    folders: tuple[str, ...] = ()
    token: str | None = None
    """What the next page is asked for with; None: this is the last one."""

    @classmethod
    def of(cls, body: bytes) -> Page:
        """Read the answer to ListObjectsV2."""
        text = body.decode("utf-8", "replace")
        keys, folders = (tuple(unescape(key) for key in pattern.findall(text)) for pattern in (_KEY, _FOLDER))
        token = _TOKEN.search(text) if "<IsTruncated>true<" in text else None
        return cls(keys, folders, None if token is None else unescape(token[1]))


def judge_pages(pages: Sequence[Page], *, most: int, known: set[str] | None) -> Seen:
    """Judge the pages of one listing: none too long, no name twice, and all that are known, if they are."""
    keys = [key for page in pages for key in page.keys]
    text = f"{len(keys)} names in {len(pages)} pages"
    longest = max((len(page.keys) for page in pages), default=0)
    if longest > most:
        return Seen(False, f"{longest} names on a page")
    if len(set(keys)) < len(keys):
        return Seen(False, f"{text}, {len(keys) - len(set(keys))} of them twice")
    if known is not None and set(keys) != known:
        return Seen(False, f"{text}, {len(known - set(keys))} missing, {len(set(keys) - known)} strange")
    return Seen(len(pages) > 1, text)


def judge_order(keys: Sequence[str]) -> Seen:
    """Judge whether names come in the order of their UTF-8 bytes."""
    for before, after in itertools.pairwise(keys):
        if before.encode() >= after.encode():
            return Seen(False, f"{after!r} after {before!r}")
    return Seen(True, f"{len(keys)} names in order")
