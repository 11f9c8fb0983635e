"""`penstock bench`: one layer at a time, over any factors; or a whole study from a suite."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from penstock.cli.outcome import conclude, output_options

if TYPE_CHECKING:
    from penstock.results import Result

__all__ = ["bench"]

QUICK_BLOCKS = 3


@click.command()
@click.argument("layer")
@click.argument("data")
@click.option("--set", "settings", multiple=True, help="A setting of the layer: seconds=5; may be given again.")
@click.option("--sweep", multiple=True, help="Vary a setting: workers=1,2,4; given twice, a heat-map.")
@click.option("--peers", default="penstock", show_default=True, help="Of loader, epoch and step.")
@click.option("--blocks", default=5, show_default=True, type=click.IntRange(1), help="Runs of each cell, interleaved.")
@click.option("--quick", is_flag=True, help=f"{QUICK_BLOCKS} blocks, no verdict.")
@click.option("--seed", default=0, show_default=True, help="Of the order of the runs, and of what is drawn.")
@click.option("--environments", default=".peers", show_default=True, type=click.Path(), help="Of peers.")
@click.option("--deadline", default=600.0, show_default=True, help="Seconds after which a run counts as hung.")
@output_options
def bench(
    *,
    layer: str,
    data: str,
    settings: tuple[str, ...],
    sweep: tuple[str, ...],
    blocks: int,
    quick: bool,
    **options: Any,
) -> None:
    """Measure LAYER on DATA: tensor, store, dataset, decode; loader, epoch, step; or a suite.

    `suite` runs the studies of a TOML file: DATA is the file, and --out the folder for its results.

    Each run is a process of its own; cells take turns in a new order every block. Ctrl-C keeps what was measured.
    """
    blocks = min(blocks, QUICK_BLOCKS) if quick else blocks
    if layer == "suite":
        from penstock.cli.suite import run_suite

        run_suite(data, out=options["out"], blocks=blocks if quick else None, environments=options["environments"])
        return
    result = _measured(layer, data, settings, sweep, blocks=blocks, is_quick=quick, **options)
    if result.factors and not options["as_json"]:
        _show_factors(result)
    conclude(result, **{name: options[name] for name in ("against", "out", "html", "as_json")})


def _measured(
    layer: str,
    data: str,
    settings: tuple[str, ...],
    sweep: tuple[str, ...],
    *,
    peers: str,
    environments: str,
    deadline: float,
    blocks: int,
    is_quick: bool,
    seed: int,
    **_: Any,
) -> Result:
    from penstock import bench as room
    from penstock.bench import layers
    from penstock.cli.live import Watcher
    from penstock.cli.sweeping import as_levels
    from penstock.errors import UsageError

    if layer not in layers.LAYERS:
        raise UsageError("no such layer", got=layer, expected=f"one of {', '.join(layers.LAYERS)}, suite")
    kind = room.Case if layer in layers.OF_LOADERS else layers.load(layer).Settings
    given = {name: levels[0] for name, levels in as_levels(kind, settings).items()}
    levels = as_levels(kind, sweep)
    common: dict[str, Any] = {
        "blocks": blocks,
        "seed": seed,
        "is_quick": is_quick,
        "deadline_seconds": deadline,
        "sweep": levels,
    }
    with Watcher() as watch:
        if layer not in layers.OF_LOADERS:
            if any(field.name == "seed" for field in dataclasses.fields(kind)):
                given.setdefault("seed", seed)
            return room.bench(layer, data, settings=given, watch=watch, **common)
        if not Path(data).is_dir():
            raise UsageError("no such image folder", file=data)
        for name in ("memory_bytes",):
            if name in levels:
                given.setdefault(name, levels[name][0])
        case = room.Case.of(data, **{"seed": seed, "epochs": 1, **given})
        names = [name.strip() for name in peers.split(",") if name.strip()]
        return room.bench_loaders(layer, case, names, environments=Path(environments), watch=watch, **common)


def _show_factors(result: Result) -> None:
    """Show a heat-map of two factors, or the knee of one."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    from penstock.results import metric
    from penstock.results.sweeps import curves, grids

    console = Console()
    if len(result.factors) == 2:
        down, across = (factor.name for factor in result.factors)
        for grid in grids(result, down, across):
            console.print(f"{grid.system}: {metric(result.primary).unit} by {down} (down) and {across} (across)")
            table = Table(box=SIMPLE_HEAD, pad_edge=False)
            for name in ("", *map(str, grid.columns)):
                table.add_column(name, justify="right")
            most = max((value for row in grid.values for value in row if value is not None), default=0.0)
            for level, row in zip(grid.rows, grid.values, strict=True):
                table.add_row(str(level), *(_shade(value, most) for value in row))
            console.print(table)
    for factor in result.factors:
        for curve in curves(result, factor.name):
            if curve.knee is not None:
                rest = "".join(f", {name} {level}" for name, level in curve.rest.items())
                console.print(f"{curve.system}{rest}: more {factor.name} than {curve.knee} are hardly worth it")


def _shade(value: float | None, most: float) -> str:
    """Write a value on a background that is the darker the larger it is; the number says the same."""
    if value is None:
        return "-"
    level = int(255 - 150 * (value / most if most > 0 else 0))
    return f"[black on rgb({level},{level},255)]{value:,.4g}[/]"
