"""Measure and race loaders: the same work for each, a fresh process per run, every run on record.

`case` says what work is done, `peers` does it with one library each in `environments` of their own, `child` times one
in its own process, `study` calls the children block by block, `race` puts loaders side by side, and `layer_study`
measures one of the `layers`. What comes out is a `penstock.results.Result`, which draws the conclusions; rendering is
`penstock.report`'s.
"""

from penstock.bench.case import Case
from penstock.bench.layer_study import bench, bench_loaders
from penstock.bench.race import race
from penstock.bench.study import Event

__all__ = ["Case", "Event", "bench", "bench_loaders", "race"]
