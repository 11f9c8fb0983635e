"""Run the studies of a suite: make the data, measure, write each result and a page of tables beside the published."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from penstock.bench.suite import Study, Suite
    from penstock.results import Result

__all__ = ["run_suite"]


def run_suite(file: str, *, out: str | None, blocks: int | None, environments: str) -> None:
    """Run the studies of a suite whose results are not there yet; the folder `out` gets results, tables and data."""
    from penstock.bench import suite as suites
    from penstock.results import read, write

    suite = suites.read(file)
    folder = Path(out or Path(file).with_suffix("").name)
    folder.mkdir(parents=True, exist_ok=True)
    tables = []
    for study in suite.studies:
        kept = folder / f"{study.name}.json"
        if kept.exists():
            result = read(kept)
            click.echo(f"{study.name}: there already", err=True)
        else:
            click.echo(f"{study.name}: {study.layer} of {study.data}", err=True)
            result = _measured(study, _data(suite, study.data, folder), blocks, Path(environments))
            if result.status != "complete":
                write(result, kept.with_suffix(".part.json"))
                raise SystemExit(130)
            write(result, kept)
        tables.append(suites.beside(study, result))
    page = "\n".join([f"# {suite.title}", "", *tables])
    (folder / "README.md").write_text(page, "utf-8")
    click.echo(page)


def _data(suite: Suite, name: str, folder: Path) -> Path:
    """Make photographs unless they are there."""
    from penstock.testing import write_photos

    target = folder / "data" / name
    wanted = dict(suite.data[name])
    if not target.is_dir():
        click.echo(f"drawing {wanted.get('count', 1000)} photographs", err=True)
        write_photos(target, **{"count": 1000, **wanted})
    return target


def _measured(study: Study, data: Path, blocks: int | None, environments: Path) -> Result:
    from penstock import bench
    from penstock.bench.suite import RACE
    from penstock.cli.live import Watcher

    count = blocks or study.blocks
    common: dict[str, Any] = {"blocks": count, "sweep": study.sweep, "is_quick": blocks is not None}
    with Watcher() as watch:
        common["watch"] = watch
        if not study.peers:
            return bench.bench(study.layer, str(data), settings=study.settings, **common)
        case = bench.Case.of(str(data), **{"epochs": 1, **study.settings})
        common["environments"] = environments
        if study.layer == RACE:
            return bench.race(case, study.peers, **common)
        return bench.bench_loaders(study.layer, case, study.peers, **common)
