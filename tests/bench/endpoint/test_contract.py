"""The contract: answers made by hand, judged as S3 would have them."""

from __future__ import annotations

import pytest

from penstock.bench.endpoint.asking import Answer
from penstock.bench.endpoint.contract import (
    NotAsked,
    Page,
    Rule,
    Seen,
    Verdict,
    judge_anybody,
    judge_checksum,
    judge_order,
    judge_pages,
    judge_range,
    judge_status,
)

KNOWN = bytes(range(100))
RULE = Rule("a thing", "204", "Good.", "Bad.", is_needed=True)
LISTING = """<ListBucketResult><IsTruncated>{more}</IsTruncated><Prefix>p/</Prefix>
<Contents><Key>p/a &amp; b</Key><Owner><ID>1</ID></Owner></Contents><Contents>
  <Key>p/c</Key></Contents><CommonPrefixes><Prefix>p/d/</Prefix></CommonPrefixes>
<NextContinuationToken>x&#34;y=</NextContinuationToken></ListBucketResult>"""


def part(status, given, body):
    return Answer(status, (("Content-Range", given),) if given else (), body)


@pytest.mark.parametrize(
    ("answer", "is_expected", "text"),
    [
        (part(206, "bytes 10-19/5000", KNOWN[10:20]), True, "206, bytes 10-19/5000"),
        (part(200, "bytes 10-19/5000", KNOWN[10:20]), False, "200, bytes 10-19/5000: the range"),
        (part(200, None, KNOWN), False, "200: not the range"),
        (part(206, None, KNOWN[10:20]), False, "206 without Content-Range"),
        (part(206, "bytes 10-19/*", KNOWN[10:20]), False, "206, bytes 10-19/*"),
        (part(206, "bytes 9-19/5000", KNOWN[9:20]), False, "206, bytes 9-19/5000"),
        (part(206, "bytes 10-19/5000", KNOWN[10:19]), False, "206, bytes 10-19/5000, but 9 bytes"),
        (part(206, "bytes 10-19/5000", KNOWN[11:21]), False, "206, bytes 10-19/5000, but other bytes"),
        (part(503, None, b"<Error><Code>SlowDown</Code></Error>"), False, "503 SlowDown"),
        (Answer(None), False, "no answer"),
    ],
)
def test_a_range_is_206_with_its_place_and_its_bytes(answer, is_expected, text):
    assert judge_range(answer, 10, 20, size=5000, known=KNOWN) == Seen(is_expected, text)


def test_bytes_of_a_range_that_nobody_knows_are_not_judged():
    answer = part(206, "bytes 200-209/5000", b"0123456789")
    assert judge_range(answer, 200, 210, size=5000, known=KNOWN).is_expected


@pytest.mark.parametrize(
    ("sent", "is_expected", "text"),
    [
        ((), True, "none"),
        ((("X-Amz-Checksum-CRC32", "whole="),), False, "x-amz-checksum-crc32 of the whole object"),
        ((("X-Amz-Content-Sha256", "00ff"),), False, "x-amz-content-sha256 of the whole object"),
        ((("x-amz-checksum-crc32", "its own="),), True, "x-amz-checksum-crc32"),
        ((("x-amz-checksum-type", "FULL_OBJECT"),), True, "none"),
    ],
)
def test_a_checksum_with_a_range_is_not_that_of_the_whole_object(sent, is_expected, text):
    headers = (
        ("x-amz-checksum-crc32", "whole="),
        ("x-amz-content-sha256", "00ff"),
        ("x-amz-checksum-type", "FULL_OBJECT"),
    )
    assert judge_checksum(Answer(206, sent), Answer(200, headers)) == Seen(is_expected, text)
    assert not judge_checksum(Answer(500), Answer(200, headers)).is_expected


@pytest.mark.parametrize(
    ("status", "is_expected", "begins"),
    [(200, True, "allowed"), (403, True, "refused"), (401, True, "refused"), (500, False, "500"), (None, False, "no")],
)
def test_a_stranger_is_told_yes_or_no(status, is_expected, begins):
    seen = judge_anybody(Answer(status))
    assert seen.is_expected == is_expected
    assert seen.text.startswith(begins)


def test_pages_are_read_with_what_xml_has_to_escape():
    page = Page.of(LISTING.format(more="true").encode())
    assert page == Page(("p/a & b", "p/c"), ("p/d/",), 'x"y=')
    assert Page.of(LISTING.format(more="false").encode()).token is None
    assert Page.of(b"\xff not a listing") == Page(())


def test_pages_have_every_name_once_and_none_too_many():
    def judged(*pages, known=None):
        return judge_pages([Page(page) for page in pages], most=2, known=known)

    assert judged(("a", "b"), ("c",), known={"a", "b", "c"}) == Seen(True, "3 names in 2 pages")
    assert judged(("a", "b"), ("c",)).is_expected
    assert judged(("a", "b", "c")) == Seen(False, "3 names on a page")
    assert judged(("a", "b"), ("b", "c")).text.endswith("1 of them twice")
    assert judged(("a", "b"), ("d",), known={"a", "b", "c"}).text.endswith("1 missing, 1 strange")
    assert not judged(("a",)).is_expected, "one page is no proof that there would be a second"
    assert not judged().is_expected


def test_names_are_in_the_order_of_their_bytes():
    assert judge_order(["B", "a", "b/1", "Ü"]).is_expected
    assert judge_order(["a", "B"]) == Seen(False, "'B' after 'a'")
    assert not judge_order(["a", "a"]).is_expected


def test_a_check_says_what_follows_and_fails_only_where_penstock_depends_on_it():
    def look(seen):
        return lambda: seen

    kept, broken = RULE.check(look(Seen(True, "204"))), RULE.check(look(Seen(False, "500")))
    assert (kept.verdict, kept.means, kept.fails) == (Verdict.HOLDS, "Good.", False)
    assert (broken.verdict, broken.means, broken.fails) == (Verdict.DIFFERS, "Bad.", True)
    assert not Rule("a thing", "204", "Good.", "Bad.").check(look(Seen(False, "500"))).fails


def test_what_was_not_asked_is_never_said_to_hold():
    def look():
        raise NotAsked("there was no time")

    check = RULE.check(look)
    assert (check.verdict, check.seen, check.fails) == (Verdict.NOT_ASKED, "there was no time", False)


def test_of_a_body_nothing_but_its_code_is_told():
    body = b"<Error><Code>AccessDenied</Code><Message>X-Amz-Signature=00ff</Message></Error>"
    assert judge_status(Answer(403, (), body), 403) == Seen(True, "403 AccessDenied")
    assert str(Answer(200, (), b"<Code>secret</Code>")) == "200"
