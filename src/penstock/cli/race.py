"""`penstock race`: loaders side by side on one's own images."""

from __future__ import annotations

import json
from pathlib import Path

import click

__all__ = ["race"]

DEFAULT_PEERS = "pytorch,penstock-folder,penstock"


@click.command()
@click.argument("data", type=click.Path(exists=True, file_okay=False))
@click.option(
    "--peers", default=DEFAULT_PEERS, show_default=True, help="Comma-separated; one named twice shows the noise."
)
@click.option("--rounds", default=5, show_default=True, type=click.IntRange(1), help="Runs of each peer, interleaved.")
@click.option("--epochs", default=2, show_default=True, type=click.IntRange(1), help="Counted epochs of a run.")
@click.option("--workers", default=2, show_default=True, type=click.IntRange(1), help="Processes or threads, and CPUs.")
@click.option("--batch-size", default=64, show_default=True, type=click.IntRange(1), help="Images of a batch.")
@click.option("--size", default=224, show_default=True, type=click.IntRange(1), help="Side of a delivered image.")
@click.option("--seed", default=0, show_default=True, help="Of the order of the runs, and of the peers that take one.")
@click.option("--against", help="The peer to compare with (default: the slowest).")
@click.option(
    "--forms", type=click.Path(file_okay=False), help="Where DATA.pen, DATA.beton … are (default: beside DATA)."
)
@click.option("--deadline", default=600.0, show_default=True, help="Seconds after which a run counts as hung.")
@click.option("--out", type=click.Path(dir_okay=False), help="Also write the result here, as JSON.")
@click.option("--html", type=click.Path(dir_okay=False), help="Also write the result here, as a page with plots.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON, not as a table.")
def race(
    *,
    data: str,
    peers: str,
    rounds: int,
    epochs: int,
    workers: int,
    batch_size: int,
    size: int,
    seed: int,
    against: str | None,
    forms: str | None,
    deadline: float,
    out: str | None,
    html: str | None,
    as_json: bool,
) -> None:
    """Race loaders over the image folder DATA: random crops, flips, uint8 batches, every sample once per epoch.

    Each run is a process of its own; peers take turns in a new order every round. Forms of the data that a peer needs
    (a packed dataset, a .beton) are made beside DATA when they are not there. Ends with code 1 when no run succeeded.
    """
    from rich.console import Console

    from penstock import bench
    from penstock.report import page, table
    from penstock.results import from_json

    talk = Console(stderr=True)
    case = bench.Case.of(data, forms=forms, size=size, batch_size=batch_size, workers=workers, epochs=epochs, seed=seed)
    names = [name.strip() for name in peers.split(",") if name.strip()]
    with talk.status("listing") as status:
        result = bench.race(
            case,
            names,
            rounds=rounds,
            seed=seed,
            deadline_seconds=deadline,
            progress=status.update,
        )
    text = json.dumps(result, indent=1) + "\n"
    if out:
        Path(out).write_text(text, "utf-8")
    shown = from_json(result)
    if html:
        Path(html).write_text(page(shown, against=against), "utf-8")
    if as_json:
        click.echo(text, nl=False)
    else:
        Console().print(table(shown, against=against))
    if not any(run["status"] == "ok" for run in result["runs"]):
        raise SystemExit(1)
