"""What is asked of one object that is there: ranges, conditions, checksums, and who may have it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, final

from penstock.bench.endpoint.contract import (
    NotAsked,
    Rule,
    Seen,
    judge_anybody,
    judge_checksum,
    judge_range,
    judge_status,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.bench.endpoint.asking import Answer, Asker
    from penstock.bench.endpoint.contract import Check

__all__ = ["Target", "reading_checks"]

PART_BYTES = 100
NO_ETAG = '"00000000000000000000000000000000"'


@final
@dataclass(frozen=True, slots=True)
class Target:
    """The object that is asked about."""

    name: str
    size: int
    whole: Answer
    """To a request for all of it; of the body the beginning."""

    @classmethod
    def of(cls, asker: Asker, name: str, size: int) -> Target:
        """Ask for the object."""
        return cls(name, size, asker.ask("GET", name))


def _ranges(text: str) -> dict[str, str]:
    return {"Range": f"bytes={text}"}


def _part(asker: Asker, target: Target, start: int, stop: int) -> Seen:
    """Ask for a range, which may reach behind the end."""
    answer = asker.ask("GET", target.name, headers=_ranges(f"{start}-{stop - 1}"))
    return judge_range(answer, start, min(stop, target.size), size=target.size, known=target.whole.body)


def _beginning(asker: Asker, target: Target) -> Seen:
    return _part(asker, target, 0, min(PART_BYTES, target.size))


def _middle(asker: Asker, target: Target) -> Seen:
    start = min(target.size // 2, 1000)
    return _part(asker, target, start, min(start + PART_BYTES, target.size))


def _over_the_end(asker: Asker, target: Target) -> Seen:
    return _part(asker, target, max(target.size - PART_BYTES, 0), target.size + PART_BYTES)


def _last_bytes(asker: Asker, target: Target) -> Seen:
    length = min(PART_BYTES, target.size)
    answer = asker.ask("GET", target.name, headers=_ranges(f"-{length}"))
    return judge_range(answer, target.size - length, target.size, size=target.size, known=target.whole.body)


def _behind_the_end(asker: Asker, target: Target) -> Seen:
    answer = asker.ask("GET", target.name, headers=_ranges(f"{target.size + 10}-{target.size + 20}"))
    return judge_status(answer, 416)


def _several(asker: Asker, target: Target) -> Seen:
    if target.size < PART_BYTES:
        raise NotAsked("the object is too small")
    answer = asker.ask("GET", target.name, headers=_ranges("0-9,20-29"))
    is_whole = answer.header("content-length") == str(target.size)
    return Seen(answer.status == 200 and is_whole, f"{answer}, the whole object" if is_whole else str(answer))


def _if_match(asker: Asker, target: Target) -> Seen:
    headers = {**_ranges("0-0"), "If-Match": NO_ETAG}
    return judge_status(asker.ask("GET", target.name, headers=headers), 412)


def _checksum(asker: Asker, target: Target) -> Seen:
    if target.size <= PART_BYTES:
        raise NotAsked("the object is too small")
    mode = {"x-amz-checksum-mode": "ENABLED"} if asker.store.location.scheme == "s3" else None
    part = asker.ask("GET", target.name, headers=_ranges(f"0-{PART_BYTES - 1}"), query=mode)
    return judge_checksum(part, asker.ask("GET", target.name, query=mode))


def _head(asker: Asker, target: Target) -> Seen:
    answer = asker.ask("HEAD", target.name)
    length = answer.header("content-length")
    return Seen(answer.status == 200 and length == str(target.size), f"{answer}, Content-Length {length}")


def _etag(asker: Asker, target: Target) -> Seen:
    head, whole = asker.ask("HEAD", target.name).header("etag"), target.whole.header("etag")
    if head is None or whole is None:
        return Seen(False, "none")
    return Seen(head == whole, f"the same twice, {len(head)} characters" if head == whole else "two different ones")


def _missing(asker: Asker, target: Target) -> Seen:
    return judge_status(asker.ask("GET", f"{target.name}-that-is-not-there"), 404)


def _forged(asker: Asker, target: Target) -> Seen:
    return judge_status(asker.ask_forged("GET", target.name), 403)


def _anybody(asker: Asker, target: Target) -> Seen:
    if asker.store.access.anonymous or asker.store.location.scheme != "s3":
        raise NotAsked("no request is signed")
    return judge_anybody(asker.ask_unsigned("GET", target.name))


NO_RANGES = "Objects are fetched whole to read a part of them, and what is larger than 64 MiB cannot be read."
RULES = (
    (
        Rule(
            "range at the beginning",
            "206, with Content-Range and these bytes",
            "Parts of shards are read by themselves.",
            NO_RANGES,
            is_needed=True,
        ),
        _beginning,
    ),
    (
        Rule(
            "range in the middle",
            "206, with Content-Range and these bytes",
            "Parts of shards are read by themselves.",
            NO_RANGES,
            is_needed=True,
        ),
        _middle,
    ),
    (
        Rule(
            "range over the end",
            "206, with what there is",
            "The beginning of a file is asked for without knowing how long it is.",
            "Who asks for more than there is does not get what there is by itself.",
            is_needed=True,
        ),
        _over_the_end,
    ),
    (
        Rule(
            "the last bytes",
            "206, with Content-Range and these bytes",
            "Formats that are read from their end, as Parquet, can be read by other clients.",
            "penstock does without; other clients, as those of Parquet, may not.",
        ),
        _last_bytes,
    ),
    (
        Rule(
            "range behind the end",
            "416",
            "An object that has become shorter is an error that says so.",
            "An object that has become shorter is an error that says something else.",
        ),
        _behind_the_end,
    ),
    (
        Rule(
            "several ranges at once",
            "200, with the whole object",
            "penstock asks for one range at a time.",
            "It does not matter: penstock asks for one range at a time.",
        ),
        _several,
    ),
    (
        Rule(
            "If-Match with another ETag",
            "412",
            "The server can tell that an object was replaced.",
            "The server does not tell that an object was replaced; penstock's checksums do.",
        ),
        _if_match,
    ),
    (
        Rule(
            "checksum with a range",
            "none, or that of the range",
            "Clients that verify what they are sent can read ranges.",
            "penstock verifies checksums of its own; clients that verify the server's refuse such ranges.",
        ),
        _checksum,
    ),
    (
        Rule(
            "HEAD",
            "200, with the size as Content-Length",
            "Sizes are known without reading.",
            "How large an object is, and whether it is there, cannot be found out.",
            is_needed=True,
        ),
        _head,
    ),
    (
        Rule(
            "ETag",
            "the same for HEAD and GET",
            "What was read before can be told from what is there now.",
            "What was read before cannot be told from what is there now.",
        ),
        _etag,
    ),
    (
        Rule(
            "what is not there",
            "404",
            "A missing object is an error that says so.",
            "A missing object is told as something else, often because you may not list the bucket.",
        ),
        _missing,
    ),
    (
        Rule(
            "a wrong signature",
            "403",
            "Who does not know the secret is not let in.",
            "Anybody is let in: signatures are not checked.",
        ),
        _forged,
    ),
    (
        Rule(
            "no signature",
            "refused, or allowed where everybody may read",
            "Where it is allowed, Access(anonymous=True) needs no keys.",
            "What a request without a signature is told is neither yes nor no.",
        ),
        _anybody,
    ),
)


def reading_checks(asker: Asker, target: Target) -> Iterator[Check]:
    """Ask all of it, one check after another."""
    for rule, look in RULES:
        yield rule.check(partial(look, asker, target))
