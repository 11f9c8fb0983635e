"""`penstock trace`: what every thread of a loader does, batch by batch, for Perfetto."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Literal

import click

from penstock.cli.access import access_options

if TYPE_CHECKING:
    from penstock.loader import LoaderStatistics
    from penstock.storage.location import Access

__all__ = ["trace"]


@click.command()
@click.argument("data")
@click.option("--out", required=True, type=click.Path(dir_okay=False), help="The trace; compressed if it ends in .gz.")
@click.option("--batches", default=200, show_default=True, type=click.IntRange(1), help="Stop after so many.")
@click.option("--batch-size", default=64, show_default=True, type=click.IntRange(1), help="Images of a batch.")
@click.option("--size", default=224, show_default=True, type=click.IntRange(1), help="Side of a delivered image.")
@click.option("--shuffle", default="full", show_default=True, type=click.Choice(["full", "window"]), help="The order.")
@click.option("--threads", type=click.IntRange(0), help="That decode (default: one per core).")
@click.option("--think", default=0.0, show_default=True, type=click.FloatRange(0), help="Seconds a step takes.")
@click.option("--json", "as_json", is_flag=True, help="Report as JSON.")
@access_options
def trace(
    *,
    data: str,
    out: str,
    batches: int,
    batch_size: int,
    size: int,
    shuffle: str,
    threads: int | None,
    think: float,
    as_json: bool,
    access: Access | None,
) -> None:
    """Load batches of DATA (a packed dataset or a folder of images, here or at a URL), and record what was done when.

    Crops are random and flipped half of the time. Open the file at ui.perfetto.dev.
    """
    from itertools import islice

    import penstock
    from penstock.report import write_trace
    from penstock.transforms import RandomHorizontalFlip, RandomResizedCrop

    recorded = penstock.Trace()
    transforms = [RandomResizedCrop(size), RandomHorizontalFlip()]
    dataset = penstock.open(data, access=access)
    order: Literal["full", "window"] = "window" if shuffle == "window" else "full"
    loader = penstock.Loader(
        dataset, batch_size=batch_size, transforms=transforms, shuffle=order, threads=threads, trace=recorded
    )
    with loader:
        began = time.monotonic()
        for _ in islice(loader, batches):
            if think:
                time.sleep(think)
        seconds = time.monotonic() - began
        done = loader.statistics()
    write_trace(recorded, out)
    if as_json:
        said = {"path": out, "seconds": seconds, "spans": len(recorded.spans), "dropped": recorded.dropped}
        said |= {"wait_seconds": done.wait_seconds, "stages": [asdict(stage) for stage in done.stages]}
        click.echo(json.dumps(said, indent=1))
    else:
        _show(done, seconds)
        click.echo(f"{out}: {len(recorded.spans):,} spans; open it at ui.perfetto.dev")


def _show(done: LoaderStatistics, seconds: float) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    grid = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for name in ("stage", "threads", "batches", "works", "waits for the stage before", "waits for what comes after"):
        grid.add_column(name, justify="left" if name == "stage" else "right")
    for stage in done.stages:
        whole = stage.busy_seconds + stage.starved_seconds + stage.blocked_seconds or 1.0
        shares = (part / whole for part in (stage.busy_seconds, stage.starved_seconds, stage.blocked_seconds))
        grid.add_row(stage.name, str(stage.threads), str(stage.items), *(f"{share:.0%}" for share in shares))
    console = Console()
    console.print(grid)
    console.print(f"the consumer waited {done.wait_seconds / seconds:.0%} of {seconds:.2f} s")
