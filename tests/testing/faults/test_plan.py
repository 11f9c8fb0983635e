"""What is in store for a request, and what a fault makes of an answer: values, no sockets."""

from __future__ import annotations

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import UsageError
from penstock.testing.faults import FAULTS, KINDS, Profile
from penstock.testing.faults.message import Head
from penstock.testing.faults.plan import Fate, alter, fate, refusal

MIXED = FAULTS["mixed"]
RANGE = Head(
    b"HTTP/1.1 206 Partial Content\r\nServer: x\r\ncontent-length: 100\r\nContent-Range: bytes 300-399/1000\r\n\r\n"
)


def test_every_kind_has_a_profile_of_its_own_and_one_has_them_all():
    assert set(FAULTS) == {*KINDS, "mixed"}
    for kind in KINDS:
        assert [name for name, chance in zip(KINDS, FAULTS[kind].chances, strict=True) if chance] == [kind]
    assert all(MIXED.chances)


def test_a_fate_depends_on_profile_seed_and_number_alone():
    first = [fate(MIXED, 7, number, "GET") for number in range(200)]
    assert first == [fate(MIXED, 7, number, "GET") for number in range(200)]
    assert first != [fate(MIXED, 8, number, "GET") for number in range(200)]


def test_kinds_and_delays_come_as_often_as_the_profile_says():
    profile = Profile(latency_seconds=0.5, tail_seconds=0.02, reset=0.25, flip=0.5)
    fates = [fate(profile, 1, number, "GET") for number in range(4000)]
    kinds = Counter(drawn.kind for drawn in fates)
    assert set(kinds) == {None, "reset", "flip"}
    assert 900 < kinds["reset"] < 1100
    assert 1900 < kinds["flip"] < 2100
    tails = sorted(drawn.delay_seconds - 0.5 for drawn in fates)
    assert tails[0] >= 0
    assert math.isclose(sum(tails) / len(tails), 0.02, rel_tol=0.1)
    assert math.isclose(tails[len(tails) // 2], 0.02 * math.log(2), rel_tol=0.1)


def test_faults_strike_other_methods_only_where_asked_to():
    assert fate(Profile(reset=1), 0, 0, "PUT").kind is None
    assert fate(Profile(reset=1, every_method=True), 0, 0, "PUT").kind == "reset"
    assert fate(Profile(latency_seconds=1), 0, 0, "PUT").delay_seconds == 1


@given(st.sampled_from(KINDS), st.floats(0, 1, exclude_max=True), st.integers(0, 2**64 - 1), st.integers(1, 10**6))
def test_what_a_fault_makes_of_an_answer_fits_the_body(kind, where, dice, length):
    head = RANGE.replaced(b"content-length", b"%d" % length)
    answer = alter(Fate(0.0, kind, where, dice), Head(head), length)
    assert answer.stop is None or 0 <= answer.stop < length
    assert (answer.stop is None) == (answer.end == "keep")
    assert answer.flip is None or (0 <= answer.flip[0] < length and 0 < answer.flip[1] < 256)
    if answer.kind is None:
        assert answer.head == head
    if answer.kind != "ignore_range":
        sent = length + answer.zeros_before + answer.zeros_after
        assert Head(answer.head).answer_body("GET") == sent


def test_a_range_that_is_ignored_becomes_the_whole_and_a_wrong_one_speaks_of_other_bytes():
    whole = alter(Fate(0.0, "ignore_range", 0.5, 0), RANGE, 100)
    assert whole.head == b"HTTP/1.1 200 OK\r\nServer: x\r\ncontent-length: 1000\r\n\r\n"
    assert (whole.zeros_before, whole.zeros_after) == (300, 600)
    wrong = Head(alter(Fate(0.0, "wrong_range", 0.5, 0), RANGE, 100).head)
    assert wrong.value(b"content-range") == b"bytes 801-900/1501"


def test_a_fault_that_cannot_strike_leaves_the_answer_as_it_is():
    plain = Head(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n")
    for kind in ("wrong_range", "ignore_range"):
        answer = alter(Fate(0.0, kind, 0.5, 0), plain, 100)
        assert (answer.kind, answer.head) == (None, plain.raw)


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_refusal_is_an_answer_of_its_own(status):
    profile = Profile(refuse=1, statuses=(status,), retry_after_seconds=3)
    raw = refusal(profile, fate(profile, 0, 0, "GET"), has_body=True, goes_on=False)
    head, _, body = raw.partition(b"\r\n\r\n")
    answer = Head(head + b"\r\n\r\n")
    assert (answer.status, answer.value(b"retry-after"), answer.closes) == (status, b"3", True)
    assert answer.answer_body("GET") == len(body) > 0
    assert refusal(profile, fate(profile, 0, 0, "GET"), has_body=False, goes_on=True).endswith(b"\r\n\r\n")


def test_a_profile_survives_its_command_line_and_refuses_nonsense():
    profile = Profile(reset=0.5, statuses=(503,), link_bytes_per_second=1e6)
    assert Profile.from_json(profile.to_json()) == profile
    assert Profile.from_json("{}") == Profile()
    for nonsense in ({"reset": 0.6, "flip": 0.6}, {"reset": -0.1, "flip": 0.5}, {"reset": 1.1}):
        with pytest.raises(UsageError, match="chances of faults"):
            Profile(**nonsense)
    with pytest.raises(UsageError, match="rates of a line"):
        Profile(link_bytes_per_second=0)
    with pytest.raises(UsageError, match="a profile of faults"):
        Profile(latency_seconds=-1)
    with pytest.raises(UsageError, match="no such part of a profile: got reste"):
        Profile.from_json('{"reste": 1}')
