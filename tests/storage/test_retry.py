"""What is tried again and what is not, how long is waited, and what people are told: never what a server wrote."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from obstore.exceptions import GenericError, PermissionDeniedError, UnauthenticatedError

from penstock.errors import StorageError
from penstock.storage.retry import MOST_SECONDS, Garbled, Verdict, explained, judged, wait_seconds

BODY = "<Error><Code>SignatureDoesNotMatch</Code><StringToSign>hush hush</StringToSign></Error>"


def answered(status, words, body=""):
    return GenericError(
        f"Generic S3 error: Error performing GET - Server returned non-2xx status code: {status} {words}: {body}"
    )


@pytest.mark.parametrize(
    ("error", "verdict"),
    [
        (answered(503, "Service Unavailable"), Verdict.SLOWER),
        (answered(429, "Too Many Requests"), Verdict.SLOWER),
        (answered(500, "Internal Server Error"), Verdict.AGAIN),
        (answered(408, "Request Timeout"), Verdict.AGAIN),
        (answered(400, "Bad Request"), Verdict.FINAL),
        (answered(416, "Range Not Satisfiable"), Verdict.FINAL),
        (GenericError("Generic S3 error: HTTP error: error sending request"), Verdict.AGAIN),
        (GenericError("Generic S3 error: Requested 0..10, got 5..15"), Verdict.AGAIN),
        (GenericError("Received non-partial response when range requested"), Verdict.NO_RANGES),
        (Garbled("the store sent 5 bytes where it said 10"), Verdict.AGAIN),
        (TimeoutError(), Verdict.AGAIN),
        (FileNotFoundError("Object at location x not found"), Verdict.FINAL),
        (PermissionDeniedError("status code: 403 Forbidden"), Verdict.FINAL),
        (UnauthenticatedError("status code: 401 Unauthorized"), Verdict.FINAL),
        (ValueError("Could not parse path"), Verdict.FINAL),
    ],
)
def test_an_error_is_judged_by_whether_it_may_pass(error, verdict):
    assert judged(error) is verdict


@given(st.integers(0, 10_000), st.floats(0, 1))
def test_waits_grow_to_a_bound_and_are_never_nothing(attempt, draw):
    assert 0 < wait_seconds(attempt, draw) <= MOST_SECONDS
    assert wait_seconds(attempt, draw) <= wait_seconds(attempt + 1, draw)


def test_those_who_fail_together_do_not_come_again_together():
    assert wait_seconds(3, 0.1) != wait_seconds(3, 0.9)


def test_an_error_names_the_object_and_the_status_but_not_what_the_server_wrote():
    told = explained(answered(403, "Forbidden", BODY), "s3://bucket/photos.pen/penstock.json", attempts=3)
    assert isinstance(told, StorageError)
    assert "s3://bucket/photos.pen/penstock.json" in str(told)
    assert "status 403 Forbidden, SignatureDoesNotMatch, 3 attempts" in str(told)
    assert "check the credentials" in str(told)
    assert "hush" not in str(told)


def test_an_object_that_is_not_there_has_the_number_of_a_file_that_is_not_there():
    assert explained(FileNotFoundError("not found"), "s3://bucket/x").errno == 2
