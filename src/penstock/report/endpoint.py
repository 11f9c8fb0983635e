"""What was found about an endpoint, for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from penstock.report.words import binary, milliseconds

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["findings"]


def findings(result: Mapping[str, Any]) -> RenderableType:
    """Lay out a probe: the contract, the curve, and what follows."""
    read = result["object"]
    name = "an object of its own" if read["name"] is None else read["name"]
    head = Text(f"{result['url']}: read {name}, {binary(read['bytes'])}; {result['seconds']:.0f} s")
    return Group(
        head, _contract(result["checks"]), *_not_asked(result["checks"]), *_curve(result["curve"]), _end(result)
    )


def _grid(first: str, *others: str) -> Table:
    grid = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    grid.add_column(first, no_wrap=True)
    for name in others:
        grid.add_column(name, justify="right", no_wrap=True)
    return grid


def _contract(checks: list[dict[str, Any]]) -> RenderableType:
    grid = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    for name in ("check", "", "seen"):
        grid.add_column(name)
    for check in checks:
        if check["verdict"] == "holds":
            grid.add_row(Text(check["name"]), Text("holds", style="green"), Text(check["seen"]))
        elif check["verdict"] == "differs":
            seen = Text(f"{check['seen']}; S3: {check['expected']}. ")
            seen.append(check["means"], style="bold" if check["is_needed"] else "")
            grid.add_row(Text(check["name"]), Text("differs", style="red" if check["is_needed"] else "yellow"), seen)
    return grid


def _not_asked(checks: list[dict[str, Any]]) -> Iterator[Text]:
    """Name what was not asked, by reason."""
    left = [check for check in checks if check["verdict"] == "not asked"]
    for why in dict.fromkeys(check["seen"] for check in left):
        names = ", ".join(check["name"] for check in left if check["seen"] == why)
        yield Text(f"not asked, {why}: {names}", style="yellow")


def _curve(curve: Mapping[str, Any]) -> Iterator[RenderableType]:
    if curve["sizes"]:
        grid = _grid("one at a time", "requests", "first byte ms", "95 %", "all ms", "95 %", "MB/s")
        for point in curve["sizes"]:
            grid.add_row(
                binary(point["size_bytes"]),
                str(point["requests"]),
                *(milliseconds(point[name]) for name in ("first_byte_seconds", "first_byte_p95_seconds")),
                *(milliseconds(point[name]) for name in ("seconds", "p95_seconds")),
                f"{point['bytes_per_second'] / 1e6:,.1f}",
            )
        yield grid
        chosen = curve["penstock_request_bytes"]
        also = "" if chosen is None else f"; penstock would ask for {binary(chosen)}"
        yield Text(f"nearly the best rate of one connection: from {binary(curve['best_request_bytes'])} on{also}")
    if curve["levels"]:
        grid = _grid(f"{binary(curve['level_request_bytes'])}, in flight", "requests", "ms", "95 %", "MB/s", "trouble")
        for level in curve["levels"]:
            grid.add_row(
                str(level["in_flight"]),
                str(level["requests"]),
                *(milliseconds(level[name]) for name in ("seconds", "p95_seconds")),
                f"{level['bytes_per_second'] / 1e6:,.1f}",
                Text(level["trouble"] or "", style="red"),
            )
        yield grid
        safe, useful = (curve[name] or "none" for name in ("safe_in_flight", "useful_in_flight"))
        yield Text(f"in flight: {useful} are of use, {safe} are safe. {curve['why']}.")
        settings = ", ".join(f"{name}={value}" for name, value in curve["settings"].items())
        yield Text(f"set Access(requests=Requests({settings}))" if settings else "nothing to set", style="bold")
    if curve["lacks"]:
        yield Text(f"the curve is not whole: {curve['lacks']}", style="yellow")


def _end(result: Mapping[str, Any]) -> Text:
    failed = [check["name"] for check in result["checks"] if check["verdict"] == "differs" and check["is_needed"]]
    if failed:
        return Text(f"penstock depends on what is not so here: {', '.join(failed)}", style="red")
    return Text("all that was asked and that penstock depends on holds", style="green")
