"""`penstock sample`: photo-like images out of nothing."""

from __future__ import annotations

import json
import time

import click

__all__ = ["sample"]


@click.command()
@click.argument("out", type=click.Path(file_okay=False))
@click.option("--count", default=1500, show_default=True, type=click.IntRange(1), help="Number of images.")
@click.option("--seed", default=0, show_default=True, help="The same seed gives the same images.")
@click.option("--classes", default=10, show_default=True, type=click.IntRange(1), help="Number of class folders.")
@click.option("--json", "as_json", is_flag=True, help="Report as JSON.")
def sample(*, out: str, count: int, seed: int, classes: int, as_json: bool) -> None:
    """Write photo-like JPEGs into class folders below OUT, to try things on; no network is used.

    They are about 500x375, 4:2:0, some 85 KB each: gradients, shapes, texture and noise in a photograph's proportions,
    so that they cost what photographs cost.
    """
    from rich.console import Console
    from rich.progress import Progress

    from penstock.testing import write_photos

    begin = time.monotonic()
    talk = Console(stderr=True)
    with Progress(console=talk, transient=True, disable=not talk.is_terminal) as progress:
        task = progress.add_task("drawing", total=count)
        written = write_photos(
            out, count=count, seed=seed, classes=classes, progress=lambda done: progress.advance(task, done)
        )
    seconds = time.monotonic() - begin
    if as_json:
        click.echo(json.dumps({"path": out, "images": count, "bytes": written, "seconds": seconds}))
    else:
        click.echo(f"{out}: {count:,} images, {written / 1e6:.0f} MB, in {seconds:.1f} s")
