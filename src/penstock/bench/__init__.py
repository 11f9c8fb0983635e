"""Measure and race loaders: the same work for each, a fresh process per peer and round, every run on record.

`case` says what work is done, `peers` does it with one library each, `child` times one peer in its own process, `run`
calls the children round by round, `ratios` concludes. Rendering is `penstock.report`'s.
"""

from penstock.bench.case import Case
from penstock.bench.ratios import Ratio, Standing, ratios, standings
from penstock.bench.run import race

__all__ = ["Case", "Ratio", "Standing", "race", "ratios", "standings"]
