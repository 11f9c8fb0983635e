"""A trace of the loader that gives tensors."""

from __future__ import annotations

import pytest

from penstock import Trace
from penstock.torch import Loader
from penstock.transforms import RandomResizedCrop
from tests.images import image_folder


@pytest.mark.parametrize(("device", "stages"), [(None, ["read", "decode"]), ("cpu", ["read", "decode", "deliver"])])
def test_every_stage_to_the_device_is_recorded(tmp_path, device, stages):
    image_folder(tmp_path / "photos", classes=2, per_class=6)
    trace = Trace()
    options = {"batch_size": 4, "transforms": [RandomResizedCrop(16)], "device": device}
    with Loader(tmp_path / "photos", trace=trace, **options) as loader:
        assert sum(len(images) for images, _ in loader) == 12
    (lanes,) = trace.runs
    assert [stage for stage, _ in lanes.stages] == stages
    for stage in stages:
        assert sorted(span.item for span in trace.spans if span.kind == "work" and span.name == stage) == [0, 1, 2]


def test_a_loader_without_a_trace_records_nowhere(tmp_path):
    image_folder(tmp_path / "photos", classes=2, per_class=6)
    trace = Trace()
    with Loader(tmp_path / "photos", batch_size=4, transforms=[RandomResizedCrop(16)]) as loader:
        assert sum(len(images) for images, _ in loader) == 12
    assert trace.spans == trace.runs == trace.counts == ()
