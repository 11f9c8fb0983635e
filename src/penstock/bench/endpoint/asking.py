"""Bare requests to a store, and its bare answers: the status, the headers as they were sent, the body's beginning.

The client that loads data hides what is to be judged here: it follows, repeats, and turns answers into errors. So URLs
are signed for one request each and used with the standard library. Such a URL lets in whoever has it: it is in no
error, no answer, and nothing that is kept.
"""

from __future__ import annotations

import http.client
import re
import ssl
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final
from urllib.parse import urlsplit

from penstock.bench.endpoint.contract import NotAsked
from penstock.storage.object import ObjectStore

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["MOST_BYTES", "Answer", "Asker"]

ANSWER_SECONDS = 10.0
SENDING_BYTES_PER_SECOND = 256 * 1024  # at the least; more time for a body that is sent
SIGNED_SECONDS = 60.0  # a URL is good for
MOST_BYTES = 64 * 1024  # of a body: what comes behind is not waited for
_CODE = re.compile(rb"<Code>(\w{1,40})</Code>")
_PLACE = re.compile(r"bytes [\d*]{1,20}(-\d{1,20})?/[\d*]{1,20}")
_LAST_DIGIT = re.compile(r"(?<=X-Amz-Signature=)([0-9a-f]+)([0-9a-f])")


@final
@dataclass(frozen=True, slots=True)
class Answer:
    """What a server said to one request."""

    status: int | None
    """None: it said nothing, or nothing that is HTTP."""
    headers: tuple[tuple[str, str], ...] = ()
    """As they were sent, upper and lower case as well."""
    body: bytes = b""
    """Its beginning, at the most MOST_BYTES."""

    def header(self, name: str) -> str | None:
        """Give a header, by its name in lower case."""
        return next((value for sent, value in self.headers if sent.lower() == name), None)

    def __str__(self) -> str:
        if self.status is None:
            return "no answer"
        code = _CODE.search(self.body) if self.status >= 300 else None
        parts = [str(self.status) if code is None else f"{self.status} {code[1].decode()}"]
        place = self.header("content-range")
        if place is not None:
            parts.append(place if _PLACE.fullmatch(place) else "a strange Content-Range")
        return ", ".join(parts)


@final
class Asker:
    """Asks one store, until a moment of the monotonic clock."""

    def __init__(self, store: ObjectStore, ends: float) -> None:
        self.store = store
        self.ends = ends
        self._stranger = ObjectStore(store.location, replace(store.access, anonymous=True))

    def ask(
        self,
        method: str,
        name: str,
        *,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
        body: bytes | None = None,
    ) -> Answer:
        """Make a signed request about an object; about the bucket where the name is empty."""
        url = self.store.signed(name, method, SIGNED_SECONDS, query=query)
        return self._ask(method, url, headers or {}, body)

    def ask_unsigned(self, method: str, name: str) -> Answer:
        """Make a request as anybody could."""
        return self._ask(method, self._stranger.signed(name, method, SIGNED_SECONDS), {}, None)

    def ask_forged(self, method: str, name: str) -> Answer:
        """Make a request whose signature is wrong by one digit."""
        url = self.store.signed(name, method, SIGNED_SECONDS)
        forged = _LAST_DIGIT.sub(lambda found: found[1] + ("1" if found[2] == "0" else "0"), url)
        if forged == url:
            raise NotAsked("requests are not signed")
        return self._ask(method, forged, {}, None)

    def left(self) -> float:
        """Say how many seconds are left; where there are none, no more is asked."""
        seconds = self.ends - time.monotonic()
        if seconds <= 0:
            raise NotAsked("the time was up")
        return seconds

    def _ask(self, method: str, url: str, headers: Mapping[str, str], body: bytes | None) -> Answer:
        parts = urlsplit(url)
        seconds = min(self.left(), ANSWER_SECONDS + len(body or b"") / SENDING_BYTES_PER_SECOND)
        connection = (
            http.client.HTTPSConnection(parts.netloc, timeout=seconds, context=ssl.create_default_context())
            if parts.scheme == "https"
            else http.client.HTTPConnection(parts.netloc, timeout=seconds)
        )
        try:
            connection.request(method, f"{parts.path}?{parts.query}" if parts.query else parts.path, body, {**headers})
            answer = connection.getresponse()
            found = _beginning(answer, time.monotonic() + seconds)
            return Answer(answer.status, tuple(answer.getheaders()), found)
        except (OSError, http.client.HTTPException, ValueError):  # their texts may hold the URL
            return Answer(None)
        finally:
            connection.close()


def _beginning(answer: http.client.HTTPResponse, ends: float) -> bytes:
    """Read the beginning of a body, whatever pace it comes at."""
    found = b""
    while len(found) < MOST_BYTES and time.monotonic() < ends:
        part = answer.read1(MOST_BYTES - len(found))
        if not part:
            break
        found += part
    return found
