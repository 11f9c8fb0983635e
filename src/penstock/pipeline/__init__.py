"""Bounded stages of threads that carry any cargo in order, and recycled memory for it. Nothing here knows of images."""

from penstock.pipeline.lease import Reservoir
from penstock.pipeline.pipeline import Pipeline
from penstock.pipeline.stage import Stage
from penstock.pipeline.statistics import StageStatistics
from penstock.pipeline.trace import Trace

__all__ = ["Pipeline", "Reservoir", "Stage", "StageStatistics", "Trace"]
