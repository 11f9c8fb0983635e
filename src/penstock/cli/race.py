"""`penstock race`: loaders side by side on one's own images."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from penstock.cli.outcome import conclude, output_options
from penstock.cli.quantities import as_bytes

__all__ = ["race"]

DEFAULT_PEERS = "pytorch,penstock-folder,penstock"
QUICK_BLOCKS = 3


@click.command()
@click.argument("data", nargs=-1, required=True)
@click.option("--setup", "is_setup", is_flag=True, help="Make the environments of the peers named instead of DATA.")
@click.option(
    "--peers", default=DEFAULT_PEERS, show_default=True, help="Comma-separated; one named twice shows the noise."
)
@click.option(
    "--blocks", "--rounds", default=5, show_default=True, type=click.IntRange(1), help="Runs of each, interleaved."
)
@click.option("--twin/--no-twin", default=False, help="Also race the first peer against itself: the noise.")
@click.option("--quick", is_flag=True, help=f"{QUICK_BLOCKS} blocks, one epoch, no verdict.")
@click.option("--epochs", default=2, show_default=True, type=click.IntRange(1), help="Counted epochs of a run.")
@click.option("--workers", default=2, show_default=True, type=click.IntRange(1), help="Processes or threads, and CPUs.")
@click.option("--batch-size", default=64, show_default=True, type=click.IntRange(1), help="Images of a batch.")
@click.option("--size", default=224, show_default=True, type=click.IntRange(1), help="Side of a delivered image.")
@click.option("--think", default=0.0, show_default=True, type=click.FloatRange(0), help="Seconds a step takes.")
@click.option("--cache", default="warm", show_default=True, help="warm, cold, dropped, limited or disk: page cache.")
@click.option("--memory", default=None, callback=lambda c, p, v: as_bytes(c, p, v) if v else 0, help="With limited.")
@click.option("--sweep", multiple=True, help="Vary something: workers=1,2,4; may be given again for a grid.")
@click.option("--seed", default=0, show_default=True, help="Of the order of the runs, and of the peers that take one.")
@click.option(
    "--forms", type=click.Path(file_okay=False), help="Where DATA.pen, DATA.beton … are (default: beside DATA)."
)
@click.option("--environments", default=".peers", show_default=True, type=click.Path(), help="Where --setup puts them.")
@click.option("--deadline", default=600.0, show_default=True, help="Seconds after which a run counts as hung.")
@output_options
def race(*, data: tuple[str, ...], is_setup: bool, peers: str, **options: Any) -> None:
    """Race loaders over the image folder DATA: random crops, flips, uint8 batches, every sample once per epoch.

    Each run is a process of its own; peers take turns in a new order every block. Forms of the data that a peer needs
    (a packed dataset, a .beton) are made beside DATA when they are not there. With --setup, DATA are names of peers:
    their libraries are installed, pinned, each into an environment of its own, once.

    Ctrl-C keeps what was measured. Ends with code 1 when no run succeeded, 130 when it was interrupted.
    """
    if is_setup:
        _set_up(data, Path(options["environments"]))
        return
    if len(data) != 1 or not Path(data[0]).is_dir():
        raise click.BadParameter(f"{' '.join(data)!r} is not one image folder", param_hint="DATA")
    _race(data[0], [name.strip() for name in peers.split(",") if name.strip()], **options)


def _race(
    data: str,
    names: list[str],
    *,
    blocks: int,
    twin: bool,
    quick: bool,
    epochs: int,
    sweep: tuple[str, ...],
    seed: int,
    forms: str | None,
    environments: str,
    deadline: float,
    against: str | None,
    out: str | None,
    html: str | None,
    as_json: bool,
    think: float,
    memory: int,
    **case: Any,
) -> None:
    from penstock import bench
    from penstock.cli.live import Watcher
    from penstock.cli.sweeping import as_levels

    epochs = 1 if quick else epochs
    levels = as_levels(bench.Case, sweep)
    if "memory_bytes" in levels and not memory:
        memory = levels["memory_bytes"][0]  # the case must hold together before its levels are put in
    made = bench.Case.of(data, forms=forms, epochs=epochs, seed=seed, think_seconds=think, memory_bytes=memory, **case)
    with Watcher() as watch:
        result = bench.race(
            made,
            [*names, names[0]] if twin and names else names,
            blocks=min(blocks, QUICK_BLOCKS) if quick else blocks,
            seed=seed,
            sweep=levels,
            environments=Path(environments),
            is_quick=quick,
            deadline_seconds=deadline,
            watch=watch,
        )
    conclude(result, against=against, out=out, html=html, as_json=as_json)


def _set_up(names: tuple[str, ...], folder: Path) -> None:
    from penstock.bench.environments import setup
    from penstock.bench.peers import PEERS
    from penstock.errors import UsageError

    wanted = [name for word in names for name in word.split(",") if name]
    if unknown := [name for name in wanted if name not in PEERS]:
        raise UsageError("no such peer", got=", ".join(unknown), expected=f"some of {', '.join(PEERS)}")
    for name in wanted:
        made = setup(name, folder, tell=lambda words: click.echo(words, err=True))
        click.echo(f"{name}: {'needs nothing but penstock and torch' if made is None else made}")
