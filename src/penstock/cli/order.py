"""`penstock info --order`: what a way to shuffle is worth on a dataset, beside a uniform shuffle, and what it takes.

Classes are judged twice: as they are stored, which is what a training run gets, and as if the dataset were sorted by
them, which is what the order can be relied on for whatever is stored where.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from penstock.cli.quantities import as_bytes, shown_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from penstock.dataset import Dataset
    from penstock.order import Shuffle
    from penstock.order.quality import Classes
    from penstock.order.share import Order, Share

__all__ = ["order_lines", "order_options", "order_summary"]

SORTED_CLASSES = 1000  # of a dataset without any
LONG_EXCERPT = 2**18  # samples, where one costs a tenth of a microsecond
OF_WINDOWS = ("lanes", "window_bytes", "block_bytes")


def _bytes_if_given(context: click.Context, parameter: click.Parameter, value: str | None) -> int | None:
    return None if value is None else as_bytes(context, parameter, value)


def order_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that say which order, and for how many ranks."""
    positive = click.IntRange(1)
    options = (
        click.option("--order", type=click.Choice(["full", "window", "sequential"]), help="Say what it is worth here."),
        click.option("--lanes", type=positive, help="Of --order window: how many are mixed (default: 16)."),
        click.option(
            "--window",
            "window_bytes",
            callback=_bytes_if_given,
            help="Of --order window: what is mixed at a time, in all lanes together (default: 256MiB).",
        ),
        click.option(
            "--block",
            "block_bytes",
            callback=_bytes_if_given,
            help="What --order window reads in a row; with any order, what counts as one place (default: 4MiB).",
        ),
        click.option("--world-size", type=positive, help="With --order: ranks that share the epochs (default: 1)."),
        click.option("--batch-size", type=positive, help="With --order: samples of a rank's batch (default: 256)."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def order_summary(dataset: Dataset, *, order: str | None, **options: Any) -> dict[str, Any] | None:
    """Give what an order of the dataset is and is worth, as JSON's values; None where no order is asked for."""
    from penstock.order import Extent, FullShuffle, InStorageOrder, WindowShuffle
    from penstock.order.share import Share

    given = {name: value for name, value in options.items() if value is not None}
    _check_given(order, given)
    if order is None:
        return None
    windows = WindowShuffle(**{name: given[name] for name in OF_WINDOWS if name in given})
    ways: dict[str, Shuffle] = {"full": FullShuffle(), "window": windows, "sequential": InStorageOrder()}
    extent = Extent(len(dataset), sum(int(dataset.column(field).length.sum()) for field in dataset.fields))
    share = Share(given.get("batch_size", 256), 0, given.get("world_size", 1))
    lanes = windows.lanes if order == "window" else None
    if lanes is not None:
        share.check(lanes)
    block = windows.settings(extent)["block"]
    first = ways[order].order(extent, 0, 0)  # all epochs are alike
    return {
        "name": order,
        "settings": ways[order].settings(extent),
        "sample_bytes": extent.sample_bytes,
        "block_samples": block,
        "world_sizes": None if lanes is None else [size for size in range(1, lanes + 1) if lanes % size == 0],
        "world_size": share.world_size,
        "window_memory_bytes": _window_memory_bytes(dataset, first, share),
        "quality": _quality(first, share, block, _classes(dataset)),
    }


def _check_given(order: str | None, given: Mapping[str, Any]) -> None:
    """Refuse settings that say nothing here: nobody shall believe that they were heeded."""
    idle = set(given) if order is None else set(given) & {"lanes", "window_bytes"}
    if idle and order != "window":
        names = ", ".join(f"--{name.removesuffix('_bytes').replace('_', '-')}" for name in sorted(idle))
        raise click.UsageError(f"{names}: only goes with --order{' window' if order else ''}")


def _window_memory_bytes(dataset: Dataset, order: Order, share: Share) -> int:
    from penstock.order import WindowOrder
    from penstock.reading import Windows

    return Windows(dataset, dataset.fields, order, share).arena_bytes if isinstance(order, WindowOrder) else 0


def _quality(order: Order, share: Share, block: int, classes: Mapping[str, Classes]) -> list[dict[str, Any]]:
    """Judge the batches of a rank and, where there are several, those of all ranks together."""
    from penstock.order import WindowOrder
    from penstock.order.quality import SAMPLES, Excerpt, uniform_quality

    samples = SAMPLES if isinstance(order, WindowOrder) else LONG_EXCERPT
    views = {(share.batch_size, share.world_size), (share.batch_size * share.world_size, 1)}
    found = []
    for batch_size, world_size in sorted(views):
        excerpt = Excerpt.of(order, batch_size=batch_size, world_size=world_size, samples=samples)
        judged = {name: excerpt.quality(block=block, classes=each) for name, each in classes.items()}
        some = classes["sorted"]  # to a uniform shuffle it does not matter how they are stored
        judged["uniform"] = uniform_quality(
            len(order), block=block, classes=some, batch_size=batch_size, world_size=world_size
        )
        found.append({"batch_size": batch_size, **{name: asdict(each) for name, each in judged.items()}})
    return found


def _classes(dataset: Dataset) -> dict[str, Classes]:
    """Give the dataset's classes as they are stored, if it has any, and sorted."""
    import numpy as np

    from penstock.order.quality import Classes

    labels = _integer_labels(dataset)
    if labels is None:
        return {"sorted": Classes.sorted(len(dataset), min(SORTED_CLASSES, len(dataset)))}
    return {"stored": Classes.labelled(labels), "sorted": Classes.labelled(np.sort(labels))}


def _integer_labels(dataset: Dataset) -> NDArray[np.integer] | None:
    import numpy as np

    every = (dataset.labels(name) for name in dataset.label_names)
    return next((labels for labels in every if isinstance(labels, np.ndarray) and labels.dtype.kind in "iu"), None)


def order_lines(found: Mapping[str, Any]) -> list[str]:
    """Lay out the summary of an order for the terminal."""
    settings, sample_bytes, world_size = found["settings"], found["sample_bytes"], found["world_size"]
    block = f"blocks of {_samples(found['block_samples'], sample_bytes)}"
    if found["name"] == "window":
        lanes, window = settings["lanes"], settings["window"]
        each = f" on each of {world_size:,} ranks" if world_size > 1 else ""
        lines = [
            f"  order    window: {block}; {lanes:,} lanes, a window of {_samples(window, sample_bytes)} in each",
            f"    {'ranks':15} {_listed(found['world_sizes'])}",
            f"    {'memory':15} {shown_bytes(found['window_memory_bytes'])}{each}",
        ]
    else:
        lines = [
            f"  order    {found['name']}; below, a block is {_samples(found['block_samples'], sample_bytes)}",
            f"    {'ranks':15} any number",
            f"    {'memory':15} none beside that of the batches under way",
        ]
    for judged, whose in zip(found["quality"], ("a rank's" if world_size > 1 else "a", "all ranks'"), strict=False):
        title = f"in {whose} batch of {judged['batch_size']:,}"
        lines.append(f"    {title:43} {found['name']:>12} {'uniform':>12}")
        lines += _quality_lines(judged)
    return lines


def _quality_lines(judged: Mapping[str, Any]) -> list[str]:
    """Write a row for each number. Rows for sorted classes are left out where the dataset is sorted."""
    rows: list[tuple[str, str, str, Callable[[float], str]]] = [
        ("displacement, by the dataset's length", "displacement", "sorted", _short),
        ("two samples from one block", "same_block", "sorted", _odds),
    ]
    for name, words in (("stored", "as stored"), ("sorted", "if stored class by class")):
        if name in judged and (name == "stored" or judged["sorted"] != judged.get("stored")):
            rows += [(f"classes, {words}", "classes_seen", name, _short)]
            rows += [(f"run of a class, {words}", "class_run", name, _short)]
    return [
        f"      {words:41} {write(judged[name][field]):>12} {write(judged['uniform'][field]):>12}"
        for words, field, name, write in rows
    ]


def _samples(count: int, sample_bytes: float) -> str:
    return f"{count:,} samples ({shown_bytes(count * sample_bytes)})"


def _listed(numbers: list[int]) -> str:
    return " or ".join(filter(None, (", ".join(map(str, numbers[:-1])), str(numbers[-1]))))


def _odds(share: float) -> str:
    return f"1 in {1 / share:,.{0 if share < 0.1 else 1}f}" if share else "none seen"


def _short(value: float) -> str:
    return f"{value:,.{0 if value >= 99.95 else 1 if value >= 9.995 else 2}f}"
