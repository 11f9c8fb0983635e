"""Objects in a store that answers over a network: the remote twin of storage/local.py.

The only door to obstore but for fetch.py. A client is made when it is first used, in the process that uses it, so that
a store can be sent to another process; what it holds is a location and how to get at it, and no secret.

Plans are carried out by object_reads.py; what is small, or is not for a plan, is asked for here, one request at a time.
"""

from __future__ import annotations

import asyncio
import errno
import posixpath
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property, partial
from typing import IO, TYPE_CHECKING, Any, ClassVar, final
from urllib.parse import quote, urlencode

import obstore
from obstore.store import AzureStore, GCSStore, HTTPStore, S3Store

from penstock.errors import StorageError, UsageError
from penstock.storage import runtime
from penstock.storage.etag import Etags
from penstock.storage.fetch import Fetcher, ranged
from penstock.storage.location import Access, Location
from penstock.storage.object_reads import Reads
from penstock.storage.retry import Garbled, Verdict, explained, judged, wait_seconds
from penstock.storage.store import Cancelled, Failure, read_large
from penstock.types import StoreStatistics

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
    from concurrent.futures import Future

    import numpy as np
    from numpy.typing import NDArray

    from penstock.storage.link import Taken
    from penstock.storage.ranges import ReadPlan

__all__ = ["Listed", "ObjectStore"]

PART_BYTES = 8 * 2**20  # of an object that is sent in parts
PARTS_MOST = 10_000  # of one object, by S3's rules
PARTS_AT_ONCE = 4  # so that each of them is sent in time over a slow line, too
SENT_AGAIN = 8  # times a part is sent again
AMAZON = "https://s3.{}.amazonaws.com"
CLIENTS: dict[str, Any] = {"s3": S3Store, "gs": GCSStore, "az": AzureStore}


@final
@dataclass(frozen=True, slots=True)
class Listed:
    """An object, as a listing names it."""

    name: str  # below the place that was listed
    size: int
    etag: str | None


@final
class ObjectStore:
    """The objects below a URL.

    `compares` says whether reads that bring whole objects are compared with ETags: for what has no sums of its own.
    """

    is_local: ClassVar[bool] = False

    def __init__(self, url: str | Location, access: Access | None = None, *, compares: bool = True) -> None:
        self.location = Location.of(url) if isinstance(url, str) else url
        self.access = access or Access()
        self.compares = compares
        self._connection: _Connection | None = None

    @property
    def place(self) -> str:
        """The URL."""
        return str(self.location)

    @property
    def lists(self) -> bool:
        """Whether it can say what is there: a plain web server cannot."""
        return self.location.scheme not in {"http", "https"}

    def __repr__(self) -> str:
        return f"ObjectStore({self.place!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(ObjectStore, compares=self.compares), (self.location, self.access)

    @property
    def under_way_bytes(self) -> int:
        """How much may be on its way: what requests in flight ask for."""
        return self.access.requests.in_flight_bytes

    def below(self, name: str) -> ObjectStore:
        """Give the store of what lies below a name."""
        location = Location(self.location.scheme, self.location.host, self.location.name(name))
        return ObjectStore(location, self.access, compares=self.compares)

    def statistics(self) -> StoreStatistics:
        """Tell what requests for ranges have come to in this process."""
        return StoreStatistics() if self._connection is None else self._connection.fetcher.statistics()

    def begin(
        self,
        names: Sequence[str],
        plan: ReadPlan,
        block: NDArray[np.uint8],
        *,
        ways: NDArray[np.uint8] | None = None,
        sizes: Sequence[int] | None = None,
    ) -> Fetching:
        """Begin to fetch what a plan says, of objects whose positions in `names` it has."""
        del ways  # there is one
        reads = self._here().reads(names, sizes, compares=self.compares)
        return Fetching(runtime.begin(reads.carry_out(plan, block)))

    def read(self, name: str) -> bytes:
        """Read a whole object; a large one by many requests, side by side."""
        body, size = self._patiently(name, self._here().beginning)
        if body is None:
            try:
                body = read_large(self, name, size)
            except StorageError:
                if not self._here().fetcher.refuses_ranges:
                    raise
                body, _ = self._patiently(name, self._here().beginning)  # which now knows that, and takes all
        return bytes(body)

    def size(self, name: str) -> int | None:
        """How large an object is; None where there is none."""
        found = self.look(name)
        return None if found is None else found.size

    def look(self, name: str) -> Listed | None:
        """Ask for one object what a listing says; None where there is none. Without an ETag the time stands for it."""
        try:
            found = self._patiently(name, obstore.head_async)
        except StorageError as error:
            if error.errno == errno.ENOENT:
                return None
            raise
        return Listed(name, int(found["size"]), found["e_tag"] or found["last_modified"].isoformat())

    def write(self, name: str, data: bytes | memoryview, *, metadata: dict[str, str] | None = None) -> None:
        """Write an object: there whole or not at all."""
        view = memoryview(data).cast("B")
        if len(view) > PART_BYTES:
            self.send(name, view, len(view))
        else:
            given: dict[str, Any] = {"use_multipart": False, "attributes": metadata}
            self._patiently(name, lambda client, whole: obstore.put_async(client, whole, view, **given))

    def create(self, name: str, data: bytes) -> None:
        """Write an object unless there is one. A store that knows no such condition writes it in any case."""
        self._patiently(name, lambda client, whole: _created(client, whole, data))

    def send(self, name: str, data: memoryview | IO[bytes], size: int) -> None:
        """Write an object in parts, several at a time; of a file no more than these are in memory."""
        runtime.call(self._here().send(self.location.name(name), data, size))

    def remove(self, names: Sequence[str]) -> None:
        """Remove objects; those that are not there are none's loss."""
        for name in names:
            self._patiently(name, _removed)

    def list(self, prefix: str = "") -> Iterator[Listed]:
        """List the objects whose names below this place begin with `prefix`, page by page, in the store's order."""
        if not self.lists:
            hint = "give a list of names, or a server that speaks S3"
            raise UsageError("a plain web server cannot list what it has", file=self.place, hint=hint)
        whole = self.location.name(prefix)
        folder = posixpath.dirname(whole)  # a listing begins at a folder; within it names are compared
        begins = f"{self.location.path}/" if self.location.path else ""
        stream = obstore.list(self._here().client, folder or None, chunk_size=1000)
        while True:
            try:
                page = runtime.call(_next_page(stream))
            except Exception as error:  # noqa: BLE001  told, whatever it is
                raise explained(error, self.place) from None
            if page is None:
                return
            for found in page:
                if found["path"].startswith(whole):
                    yield Listed(found["path"][len(begins) :], int(found["size"]), found["e_tag"])

    async def once(self, name: str, start: int, stop: int) -> Taken:
        """Ask for a range once: nothing is repeated, and errors come as obstore has them. For measuring."""
        _, taken = await ranged(self._here().client, self.location.name(name), start, stop)
        return taken

    def signed(self, name: str, method: str, seconds: float, *, query: Mapping[str, str] | None = None) -> str:
        """Give a URL that lets whoever has it make one kind of request for some time: not to be shown or stored.

        For requests to S3 whose bare answer is wanted. An empty name is the bucket. Where nothing is signed (a plain
        web server, anonymous access) the URL is an ordinary one.
        """
        whole = self.location.name(name) if name else ""
        bare = f"{self._bucket_url()}/{quote(whole)}" if whole else self._bucket_url()
        text = urlencode(query or {}, quote_via=quote)
        if self.location.scheme != "s3" or self.access.anonymous:
            return f"{bare}?{text}" if text else bare
        # obstore signs the path of an object, and knows no queries. So the query is told to it as part of the endpoint,
        # and ends in a parameter that swallows what obstore appends to that. Amazon's own clients send x-id, too.
        options: dict[str, Any] = {"endpoint": f"{bare}?{text}&x-id=", "virtual_hosted_style_request": True}
        client = _client(self.location, self.access, **options) if text else self._here().client
        try:
            return runtime.call(_signed(client, method, "" if text else whole, timedelta(seconds=seconds)))
        except Exception as error:  # noqa: BLE001  told, whatever it is
            raise explained(error, f"{self.location.root}/{whole}") from None

    def _bucket_url(self) -> str:
        """Say where the bucket is, or the web server."""
        if self.location.scheme != "s3":
            return self.location.root
        options = self.access.s3_options()
        return f"{options.get('endpoint', AMAZON.format(options['region'])).rstrip('/')}/{self.location.host}"

    def _patiently(self, name: str, ask: Callable[[Any, str], Awaitable[Any]]) -> Any:
        """Make a request that is small, or is not for a plan; again where that may help."""
        return runtime.call(self._here().patiently(self.location.name(name), ask))

    def _here(self) -> _Connection:
        """Connect at the first use."""
        if self._connection is None:
            self._connection = _Connection(_client(self.location, self.access), self.location, self.access)
        return self._connection


@final
class Fetching:
    """Ranges that are being fetched into a block."""

    def __init__(self, future: Future[list[Failure]]) -> None:
        self._future = future

    def failures(self) -> list[Failure]:
        """Wait for them. Every request has a deadline, so this ends."""
        try:
            return runtime.awaited(self._future)
        except CancelledError:
            raise Cancelled from None

    def cancel(self) -> None:
        """Give up what has not arrived."""
        self._future.cancel()


@final
@dataclass
class _Connection:
    """A client, and who fetches with it."""

    client: Any
    location: Location
    access: Access
    fetcher: Fetcher = field(init=False)
    etags: Etags = field(init=False)

    def __post_init__(self) -> None:
        self.fetcher = Fetcher(self.client, self.location.root, self.access.requests)
        self.etags = Etags(self.location.root)

    def reads(self, names: Sequence[str], sizes: Sequence[int] | None, *, compares: bool) -> Reads:
        """Give what carries out a plan."""
        names = [self.location.name(name) for name in names]
        return Reads(self.fetcher, self.etags if compares else None, names, sizes)

    async def beginning(self, client: Any, name: str) -> tuple[memoryview | None, int]:
        """Ask for a whole object, and take it if it is small, or cannot be had in parts; it or None, and its size."""
        answer = await obstore.get_async(client, name)
        size = int(answer.meta["size"])
        if size > PART_BYTES and not self.fetcher.refuses_ranges:
            return None, size
        body = memoryview(await answer.bytes_async())
        if len(body) != size:
            raise Garbled(f"the store sent {len(body)} bytes where it said {size}")
        await self.etags.check(name, [answer.meta["e_tag"]], body)
        return body, size

    async def patiently(self, name: str, ask: Callable[[Any, str], Awaitable[Any]]) -> Any:
        """Make a request until it succeeds, is hopeless, or has run out of time."""
        limits, attempt = self.access.requests, 0
        deadline = asyncio.get_running_loop().time() + limits.deadline_seconds
        while True:
            left = deadline - asyncio.get_running_loop().time()
            try:
                return await asyncio.wait_for(ask(self.client, name), max(left, 0.001))
            except Exception as error:  # noqa: BLE001  judged and told, whatever it is
                attempt += 1
                wait = wait_seconds(attempt - 1, 0.5)
                if judged(error) in {Verdict.FINAL, Verdict.NO_RANGES} or wait >= left:
                    raise explained(error, f"{self.location.root}/{name}", attempts=attempt) from None
            await asyncio.sleep(wait)

    @cached_property
    def sender(self) -> Any:
        """A client that sends a part again by itself: it alone still has the part."""
        return _client(self.location, self.access, attempts_again=SENT_AGAIN)

    async def send(self, name: str, data: Any, size: int) -> None:
        """Send in parts. Each has a deadline, so this ends."""
        part = max(PART_BYTES, -(-size // PARTS_MOST))
        try:
            await obstore.put_async(
                self.sender, name, data, use_multipart=True, chunk_size=part, max_concurrency=PARTS_AT_ONCE
            )
        except Exception as error:  # noqa: BLE001  told, whatever it is
            raise explained(error, f"{self.location.root}/{name}") from None


async def _removed(client: Any, name: str) -> None:
    with suppress(FileNotFoundError):
        await obstore.delete_async(client, name)


async def _created(client: Any, name: str, data: bytes) -> None:
    try:
        await obstore.put_async(client, name, data, mode="create")
    except (obstore.exceptions.AlreadyExistsError, obstore.exceptions.PreconditionError):
        return
    except (obstore.exceptions.NotSupportedError, NotImplementedError):
        await obstore.put_async(client, name, data, use_multipart=False)
    except obstore.exceptions.GenericError as error:
        if "status code: 501" not in str(error):  # S3's way to say that it knows no such condition
            raise
        await obstore.put_async(client, name, data, use_multipart=False)


async def _signed(client: Any, method: Any, name: str, lasting: timedelta) -> str:
    return await obstore.sign_async(client, method, name, lasting)


async def _next_page(stream: Any) -> Any:
    try:
        return await anext(stream.__aiter__())
    except StopAsyncIteration:
        return None


def _client(location: Location, access: Access, *, attempts_again: int = 0, **changes: Any) -> Any:
    """Make obstore's client of a store, with changed options. Retries are ours, but for parts: it makes them untold."""
    seconds, whole = access.requests.attempt_seconds, timedelta(seconds=access.requests.deadline_seconds)
    common: dict[str, Any] = {
        "client_options": {"allow_http": True, "timeout": f"{int(seconds * 1000)}ms", "connect_timeout": "5s"},
        "retry_config": {"max_retries": attempts_again, "retry_timeout": whole},
    }
    if location.scheme == "s3":
        common |= {**access.s3_options(), **changes}
    elif access.anonymous and location.scheme in {"gs", "az"}:
        common["skip_signature"] = True
    try:
        if location.scheme in {"http", "https"}:
            return HTTPStore.from_url(location.root, **common)
        return CLIENTS[location.scheme](location.host, **common)
    except obstore.exceptions.BaseError as error:
        hint = "say it with Access(…), or in the environment"
        what = f"the connection to the store lacks something: {type(error).__name__}"
        raise UsageError(what, file=location.root, hint=hint) from None
