"""What was measured, and what it comes to: one versioned JSON for every bench and race. Nothing here measures.

`result` has the values, `form` reads and writes them, `conclusions` draws standings and verdicts from them by
`statistics`. docs/format/results-v1.md is the specification.
"""

from penstock.results.conclusions import Comparison, Standing, band, compared, slowest, standings, verdict
from penstock.results.form import from_json, read, to_json, write
from penstock.results.metrics import METRICS, Metric, metric
from penstock.results.result import Cache, Cell, Epoch, Factor, Finding, Gate, Result, Run, Steps, System, Waits

__all__ = [
    "METRICS",
    "Cache",
    "Cell",
    "Comparison",
    "Epoch",
    "Factor",
    "Finding",
    "Gate",
    "Metric",
    "Result",
    "Run",
    "Standing",
    "Steps",
    "System",
    "Waits",
    "band",
    "compared",
    "from_json",
    "metric",
    "read",
    "slowest",
    "standings",
    "to_json",
    "verdict",
    "write",
]
