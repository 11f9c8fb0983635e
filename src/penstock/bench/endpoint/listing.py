"""What is asked about names: whether a listing goes on from page to page, is in order, and can begin anywhere."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, final

from penstock.bench.endpoint.contract import NotAsked, Page, Rule, Seen, judge_order, judge_pages

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.bench.endpoint.asking import Answer, Asker
    from penstock.bench.endpoint.contract import Check

__all__ = ["NAMES", "listing_checks"]

NAMES = ("B", "a", "b/1", "b/2", "Ü")  # to be made below a folder: in the order of bytes, not of a dictionary
SHORT, LONG = 2, 100  # names of a page
MOST_PAGES = 4


@final
@dataclass(frozen=True, slots=True)
class _Names:
    """The names below a place, as the first listing gave them."""

    asker: Asker
    prefix: str
    answer: Answer
    page: Page
    known: set[str] | None
    """All that there are; None where nobody knows."""
    are_ours: bool
    """Whether they were made for this, so that there must be enough of them."""

    def listed(self, **query: str) -> Answer:
        """Ask for a page."""
        asked = {"list-type": "2", "prefix": self.prefix}
        return self.asker.ask("GET", "", query=asked | {name.replace("_", "-"): value for name, value in query.items()})

    def at_least(self, count: int) -> None:
        """Say so where there are too few names to see anything."""
        if self.answer.status == 200 and len(self.page.keys) < count and not self.are_ours:
            raise NotAsked(f"there are fewer than {count} objects")


def _pages(names: _Names) -> Seen:
    """Go through the pages; not through all of them where nobody knows how many there are."""
    names.at_least(SHORT + 1)
    pages: list[Page] = []
    token = ""
    while (token or not pages) and len(pages) < MOST_PAGES:
        answer = names.listed(max_keys=str(SHORT), **({"continuation_token": token} if token else {}))
        if answer.status != 200:
            return Seen(False, str(answer))
        pages.append(Page.of(answer.body))
        token = pages[-1].token or ""
    is_all = names.known is not None and len(names.known) <= SHORT * MOST_PAGES
    return judge_pages(pages, most=SHORT, known=names.known if is_all else None)


def _order(names: _Names) -> Seen:
    names.at_least(2)
    return judge_order(names.page.keys) if names.answer.status == 200 else Seen(False, str(names.answer))


def _start_after(names: _Names) -> Seen:
    names.at_least(2)
    if len(names.page.keys) < 2:
        raise NotAsked("the listing gave too few names")
    first, second = sorted(names.page.keys, key=str.encode)[:2]
    answer = names.listed(max_keys=str(SHORT), start_after=first)
    keys = Page.of(answer.body).keys
    is_next = bool(keys) and keys[0] == second
    return Seen(answer.status == 200 and is_next, "the next name" if is_next else f"{answer}, another name")


def _delimiter(names: _Names) -> Seen:
    if names.known is None:
        raise NotAsked("there are too many objects to know them")
    behind = {key: key[len(names.prefix) :] for key in names.known}
    files = {key for key, rest in behind.items() if "/" not in rest}
    folders = {names.prefix + rest.partition("/")[0] + "/" for rest in behind.values() if "/" in rest}
    if not folders:
        raise NotAsked("there are no folders")
    answer = names.listed(delimiter="/", max_keys=str(LONG))
    page = Page.of(answer.body)
    is_so = (set(page.keys), set(page.folders)) == (files, folders)
    return Seen(is_so, f"{len(page.folders)} folders and {len(page.keys)} objects" if is_so else f"{answer}, others")


RULES = (
    (
        Rule(
            "listing in pages",
            "every name once, and no page longer than asked for",
            "All files of a folder are found.",
            "Files of a folder may be left out or found twice.",
            is_needed=True,
        ),
        _pages,
    ),
    (
        Rule(
            "listing in order",
            "names in the order of their bytes",
            "Listings can be compared while they come.",
            "penstock does without the order; tools that count on it go wrong.",
        ),
        _order,
    ),
    (
        Rule(
            "listing from a name on",
            "the name behind that of start-after",
            "A listing can be taken up where it stopped.",
            "A listing cannot be taken up where it stopped; penstock begins anew.",
        ),
        _start_after,
    ),
    (
        Rule(
            "listing one folder",
            "what lies in it, and folders, with delimiter=/",
            "Folders can be looked at one by one.",
            "Folders cannot be looked at one by one: a listing has all that is below.",
        ),
        _delimiter,
    ),
)


def listing_checks(asker: Asker, folder: str, known: set[str] | None = None) -> Iterator[Check]:
    """List what is below a folder, the names of which may be known."""
    prefix = asker.store.location.name(folder)
    if asker.store.location.scheme != "s3":
        yield from (rule.not_asked("a plain web server lists nothing") for rule, _ in RULES)
        return
    try:
        answer = asker.ask("GET", "", query={"list-type": "2", "prefix": prefix, "max-keys": str(LONG)})
    except NotAsked as why:
        yield from (rule.not_asked(str(why)) for rule, _ in RULES)
        return
    page, are_ours = Page.of(answer.body), known is not None
    if known is not None:
        known = {asker.store.location.name(name) for name in known}
    elif answer.status == 200 and page.token is None and len(page.keys) < LONG:
        known = set(page.keys)
    names = _Names(asker, prefix, answer, page, known, are_ours)
    for rule, look in RULES:
        yield rule.check(partial(look, names))
