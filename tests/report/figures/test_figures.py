"""Which figures results have, and that their tables and plots say what was measured."""

from __future__ import annotations

import re
from statistics import median
from xml.etree import ElementTree as ET

import pytest

from penstock.report import figures, studies
from penstock.results import waits
from tests.report.made import race, sweep
from tests.results.made import race as rates
from tests.results.made import sweep as swept_rates


def named(results, against=None, names=None):
    return {figure.name: figure for figure in figures(studies(results, names), against)}


@pytest.fixture(scope="module")
def raced():
    return race()


def points(figure, width=860):
    tree = ET.fromstring(figure.plot.svg(width))
    return [group for group in tree.iter("g") if "point" in (group.get("class") or "").split()]


def test_a_race_with_everything_has_every_figure(raced):
    assert list(named([raced])) == [
        "bars-samples-per-second",
        "ratios",
        "waits",
        "steps",
        "costs-samples-per-second",
        "cache",
        "device",
        "blocks",
    ]


def test_what_was_not_measured_is_not_drawn():
    assert list(named([rates({"a": [1.0, 2.0]})])) == ["bars-samples-per-second", "blocks"]
    assert named([rates({"a": [None]})]) == {}


def test_bars_are_medians_of_blocks(raced):
    found = points(named([raced])["bars-samples-per-second"])
    values = {point.get("data-name"): float(point.get("data-value")) for point in found}
    assert values["torchvision ImageFolder and DataLoader"] == median(
        raced.values("torchvision", "samples_per_second").values()
    )
    assert list(values.values()) == sorted(values.values(), reverse=True)


def test_ratios_are_those_of_the_same_block(raced):
    ours, theirs = (raced.values(name, "samples_per_second") for name in ("penstock", "torchvision"))
    expected = median(ours[block] / theirs[block] for block in ours)
    found = points(named([raced], "torchvision")["ratios"])
    (value,) = [float(point.get("data-value")) for point in found if point.get("data-name") == "penstock, packed"]
    assert value == expected


def test_waits_of_all_runs_are_pooled_and_their_percentiles_marked(raced):
    pooled = waits.added([run.waits for run in raced.runs_of("penstock")])
    found = [
        (float(point.get("data-x")), float(point.get("data-y")))
        for point in points(named([raced])["waits"])
        if point.get("data-name") == "penstock, packed"
    ]
    total = sum(pooled.counts.values())
    expected = [(waits.percentile(pooled, share), 1 - share) for share in (0.5, 0.9, 0.99, 0.999)]
    assert found == [*expected, (pooled.longest_seconds, 1 / total)]


def test_the_curve_of_waits_falls_from_all_to_the_last(raced):
    (line,) = [line for line in named([raced])["waits"].lines if line.name == "penstock, packed"]
    shares = [y for _, y in line.path]
    assert shares[0] == 1.0
    assert shares == sorted(shares, reverse=True)
    assert [x for x, _ in line.path] == sorted(x for x, _ in line.path)
    assert line.path[-1][0] == max(run.waits.longest_seconds for run in raced.runs_of("penstock"))


def test_a_sweep_is_drawn_over_each_of_its_factors():
    found = named([sweep()])
    assert list(found)[1:] == [
        "ratios",
        "by-workers-samples-per-second",
        "by-workers-accelerator-use",
        "by-latency-samples-per-second",
        "by-latency-accelerator-use",
        "heat-penstock",
        "heat-boto",
        "blocks",
    ]
    over = found["by-workers-samples-per-second"]
    assert [line.name for line in over.lines][:2] == ["penstock, latency 0.001", "penstock, latency 0.1"]
    assert [spot.x for spot in over.lines[0].spots] == [1, 2, 4, 8]
    assert over.lines[0].ideal[1] == (8, 8 * over.lines[0].spots[0].y)
    assert over.table.head[-1] == "of the ideal"
    assert over.table.rows[0][-1] == "100%"
    assert 'data-level="0.9"' in found["by-workers-accelerator-use"].plot.svg(860)


def test_two_factors_make_a_heat_map_of_medians():
    swept = sweep()
    found = points(named([swept])["heat-penstock"])
    values = {point.get("data-where"): float(point.get("data-value")) for point in found}
    assert len(values) == 8
    expected = median(swept.values("penstock, workers 4, latency 0.1", "samples_per_second").values())
    assert values["workers 4, latency 0.1"] == expected
    assert named([swept])["heat-penstock"].table.head == ("", "latency 0.001", "latency 0.1")


def test_a_curve_says_where_its_knee_is():
    rates = {("a", 1): [100.0], ("a", 2): [198.0], ("a", 4): [220.0]}
    words = named([swept_rates(rates)])["by-workers-samples-per-second"].words
    assert "More workers than these are hardly worth it: a: 2." in words


def test_several_results_share_the_plots_of_one_metric_and_are_told_apart():
    found = named([race(), race(seed=9)], names=["before", "after"])
    names = [point.get("data-name") for point in points(found["bars-samples-per-second"])]
    assert len(names) == 8
    assert "penstock, packed, run 2 · after" in names
    assert {"ratios-before", "ratios-after"} <= set(found)


def test_results_of_different_metrics_are_not_put_on_one_axis():
    other = rates({"a": [1.0]}, primary="seconds")
    found = named([race(), other], names=["race", "other"])
    assert {"bars-samples-per-second", "bars-seconds"} <= set(found)
    assert len(points(found["bars-seconds"])) == 1


def test_every_figure_has_a_table_with_a_row_for_all_that_it_draws(raced):
    for figure in (*figures(studies([raced])), *figures(studies([sweep()]))):
        assert figure.table.rows
        assert all(len(row) == len(figure.table.head) for row in figure.table.rows)
        drawn = {point.get("data-name") for point in points(figure)} - {None}
        assert drawn <= {row[0] for row in figure.table.rows}


def test_names_of_figures_are_fit_for_files_and_no_two_alike():
    shown = studies([race(), race()], ["a/b", "a b"])
    names = [figure.name for figure in figures(shown)]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z0-9-]+", name) for name in names)
