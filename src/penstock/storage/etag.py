"""What an ETag says of an object's bytes: their MD5, in stores that speak S3, of objects that were sent in one piece.

Nobody promises that. The ETag of an object that was sent in parts has a dash, others have letters or other lengths:
such say nothing here. That of an encrypted object may look like an MD5 and be none. So bytes that do not match are
fetched again: damage on the way is never twice the same. Where the same bytes come twice, it is the ETag that means
something else, and the bytes are taken. Once as many objects of a store have had such an ETag as have had one that
matches, its ETags are no longer looked at; so an odd object among many does not end the checks.

Runs in the thread of requests (runtime.py), but for the sums themselves: 1.5 ms per MB, in threads beside.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import re
from typing import TYPE_CHECKING, final

from penstock.storage.retry import Garbled

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = ["Etags"]

_MD5 = re.compile(r'"?([0-9a-fA-F]{32})"?')


@final
class Etags:
    """The ETags of one store, and what they have turned out to be."""

    def __init__(self, place: str) -> None:
        self.are_sums = True
        """Whether they are still looked at."""
        self._place = place
        self._matched = self._contradicted = 0  # objects
        self._doubted: dict[str, str] = {}  # objects whose bytes did not match: the sum that these had

    async def check(self, name: str, etags: Collection[str | None], body: memoryview) -> None:
        """See that an object's bytes are those that its ETag is the sum of; Garbled where they may not be.

        It may have come in pieces, with an ETag each.
        """
        if len(etags) != 1:
            raise Garbled("the object was replaced while it was read")
        stated = _MD5.fullmatch(next(iter(etags)) or "")
        if stated is None or not self.are_sums:
            return
        found = await asyncio.get_running_loop().run_in_executor(None, _md5, body)
        doubted = self._doubted.pop(name, None)
        if found == stated[1].lower():
            self._matched += 1
        elif found != doubted:
            self._doubted[name] = found
            raise Garbled("the store sent other bytes than those that it gives the ETag of")
        else:
            self._contradict(name)

    def _contradict(self, name: str) -> None:
        """Note that the ETag of an object is no MD5."""
        self._contradicted += 1
        log = logging.getLogger("penstock")
        if self._contradicted >= self._matched and self.are_sums:
            self.are_sums = False
            what = "ETags of %s look like MD5s and are none, that of %s for one: bytes are not compared with them"
            log.warning(what, self._place, name)
        elif self._contradicted == 1:
            what = "the ETag of %s/%s looks like an MD5 and is none: its bytes came twice, and are taken for right"
            log.warning(what, self._place, name)


def _md5(body: memoryview) -> str:
    return hashlib.md5(body, usedforsecurity=False).hexdigest()
