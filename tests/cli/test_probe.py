"""`penstock probe`, against real servers: each is told apart by what it does, and nothing is left behind."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from click.testing import CliRunner

from penstock.bench.endpoint import run
from penstock.bench.endpoint.asking import Answer, Asker
from penstock.bench.endpoint.reading import Target, reading_checks
from penstock.cli import main
from penstock.errors import StorageError
from penstock.storage.location import Access
from penstock.storage.object import ObjectStore
from tests.testing.test_servers import client

READING = (
    "range at the beginning",
    "range in the middle",
    "range over the end",
    "the last bytes",
    "range behind the end",
    "several ranges at once",
    "If-Match with another ETag",
    "checksum with a range",
    "HEAD",
    "ETag",
    "what is not there",
    "a wrong signature",
    "no signature",
)
LISTING = ("listing in pages", "listing in order", "listing from a name on", "listing one folder")
WRITING = (
    "PUT with If-None-Match: *",
    "metadata",
    "parts in any order",
    "ETag of an object in parts",
    "giving up an upload in parts",
    "names with blanks, Ü, % and +",
)
RCLONE_DIFFERS = {
    "range at the beginning",
    "range in the middle",
    "range over the end",
    "the last bytes",
    "several ranges at once",
    "If-Match with another ETag",
    "checksum with a range",
    "no signature",
    "PUT with If-None-Match: *",
    "metadata",
    "ETag of an object in parts",
}
SECRETS = re.compile(r"X-Amz-|Signature=|Credential=", re.IGNORECASE)


def probe(server, url, *options, code, monkeypatch, secret=None):
    """Run the command; what it said is looked through for what nobody may see."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", server.access_key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", secret or server.secret)
    monkeypatch.setenv("COLUMNS", "200")
    done = CliRunner().invoke(main, ["probe", url, "--endpoint", server.endpoint, *options])
    assert done.exit_code == code, done.output
    assert server.secret not in done.output
    # The name of a header that is missing or wrong may be said, what requests were signed with may not.
    assert not SECRETS.search(done.output.replace("x-amz-content-sha256", ""))
    return done


def verdicts(done):
    return {check["name"]: check["verdict"] for check in json.loads(done.stdout)["checks"]}


def left_in(server):
    """Everything in the bucket below the probes of these tests, uploads in parts among it."""
    s3 = client(server)
    objects = s3.list_objects_v2(Bucket=server.bucket, Prefix="probe").get("Contents", [])
    uploads = s3.list_multipart_uploads(Bucket=server.bucket).get("Uploads", [])
    return [entry["Key"] for entry in [*objects, *uploads]]


def test_seaweedfs_keeps_the_contract(seaweedfs, monkeypatch):
    url = f"s3://{seaweedfs.bucket}/probe/ed"
    done = probe(seaweedfs, url, "--write", "--json", code=0, monkeypatch=monkeypatch)
    assert verdicts(done) == dict.fromkeys((*READING, *LISTING, *WRITING), "holds")
    result = json.loads(done.stdout)
    assert (result["kind"], result["url"], result["wrote"], result["sound"]) == ("probe", url, True, True)
    assert result["object"] == {"name": None, "bytes": 16 * 2**20}
    assert all(check["means"] and check["seen"] and check["expected"] for check in result["checks"])
    curve = result["curve"]
    assert [point["size_bytes"] for point in curve["sizes"]] == [4096 * 4**step for step in range(7)]
    assert curve["best_request_bytes"] >= 65536  # a request is a millisecond
    assert curve["levels"][0]["in_flight"] == 1
    assert curve["why"]
    assert curve["lacks"] is None
    assert left_in(seaweedfs) == []


def test_rclone_is_known_by_what_it_does_otherwise(rclone, monkeypatch):
    url = f"s3://{rclone.bucket}/probe"
    done = probe(rclone, url, "--write", "--json", code=1, monkeypatch=monkeypatch)
    found = verdicts(done)
    assert {name for name, verdict in found.items() if verdict == "differs"} == RCLONE_DIFFERS
    assert set(found.values()) == {"holds", "differs"}
    result = json.loads(done.stdout)
    assert not result["sound"]
    assert result["curve"]["sizes"] == []
    assert "request for a range" in result["curve"]["lacks"]
    seen = {check["name"]: check["seen"] for check in result["checks"]}
    assert seen["range at the beginning"] == f"200, bytes 0-99/{16 * 2**20}: the range"
    assert seen["checksum with a range"] == "x-amz-content-sha256 of the whole object"
    assert [path for path in (rclone.folder / rclone.bucket).rglob("*") if "probe" in path.name] == []


def test_a_file_of_a_web_server_has_ranges_and_a_curve_and_nothing_else_is_claimed(nginx, monkeypatch):
    (nginx.folder / "one file").write_bytes(np.random.default_rng(0).bytes(2**20))
    done = CliRunner().invoke(main, ["probe", f"{nginx.endpoint}/one file", "--json"])
    assert done.exit_code == 0, done.output
    found = verdicts(done)
    not_asked = {name for name, verdict in found.items() if verdict == "not asked"}
    assert not_asked == {"a wrong signature", "no signature", *LISTING, *WRITING}
    assert {name for name, verdict in found.items() if verdict == "differs"} == {"several ranges at once"}
    assert len(json.loads(done.stdout)["curve"]["sizes"]) == 5


def test_without_write_the_largest_object_is_read_and_nothing_is_written(seaweedfs, monkeypatch):
    s3 = client(seaweedfs)
    names = {"reads/a": 10, "reads/b/large": 300_000, "reads/c": 20}
    for name, size in names.items():
        s3.put_object(Bucket=seaweedfs.bucket, Key=name, Body=bytes(size))

    def writes(*_, **__):
        raise AssertionError("nothing is to be written")

    monkeypatch.setattr(ObjectStore, "write", writes)
    monkeypatch.setattr(ObjectStore, "remove", writes)
    url = f"s3://{seaweedfs.bucket}/reads"
    done = probe(seaweedfs, url, "--json", code=0, monkeypatch=monkeypatch)
    result = json.loads(done.stdout)
    assert result["object"] == {"name": "b/large", "bytes": 300_000}
    expected = dict.fromkeys((*READING, *LISTING), "holds") | dict.fromkeys(WRITING, "not asked")
    assert verdicts(done) == expected
    named = probe(seaweedfs, url, "--object", "c", "--json", code=0, monkeypatch=monkeypatch)
    assert json.loads(named.stdout)["object"] == {"name": "c", "bytes": 20}
    assert verdicts(named)["checksum with a range"] == "not asked"
    listed = s3.list_objects_v2(Bucket=seaweedfs.bucket, Prefix="reads/")["Contents"]
    assert {entry["Key"]: entry["Size"] for entry in listed} == names


def test_the_table_says_what_differs_and_what_to_set(rclone, seaweedfs, monkeypatch):
    url = f"s3://{rclone.bucket}/probe"
    shown = probe(rclone, url, "--write", code=1, monkeypatch=monkeypatch).stdout
    assert "penstock depends on what is not so here: range at the beginning, range in the middle" in shown
    assert "the curve is not whole" in shown
    client(seaweedfs).put_object(Bucket=seaweedfs.bucket, Key="shown/one", Body=bytes(100_000))
    url = f"s3://{seaweedfs.bucket}/shown"
    shown = probe(seaweedfs, url, code=0, monkeypatch=monkeypatch).stdout
    assert "read one, 97.7 KiB" in shown
    assert "not asked, needs --write: PUT with If-None-Match" in shown
    assert "nearly the best rate of one connection" in shown
    assert "nothing to set" in shown or "set Access(requests=Requests(" in shown
    assert "all that was asked and that penstock depends on holds" in shown


@pytest.mark.parametrize("error", [KeyboardInterrupt(), StorageError("the network went away")])
def test_nothing_is_left_behind_after_an_error(seaweedfs, monkeypatch, error):
    def measure(store, *_, **__):
        assert left_in(seaweedfs) != []
        raise error

    monkeypatch.setattr(run, "measure", measure)
    code = 130 if isinstance(error, KeyboardInterrupt) else 1
    url = f"s3://{seaweedfs.bucket}/probe/broken"
    done = probe(seaweedfs, url, "--write", "--json", code=code, monkeypatch=monkeypatch)
    assert done.stdout == ""
    assert left_in(seaweedfs) == []


def test_what_cannot_be_removed_is_named(seaweedfs, monkeypatch):
    remove = ObjectStore.remove

    def removes(store, names):
        remove(store, names)
        raise StorageError("the store does not allow it")

    monkeypatch.setattr(ObjectStore, "remove", removes)
    url = f"s3://{seaweedfs.bucket}/probe"
    said = probe(seaweedfs, url, "--write", code=1, monkeypatch=monkeypatch).stderr
    assert "written for the probe could not be removed: got the store does not allow it" in said
    assert re.search(rf"file {url}/penstock-probe-[0-9a-f]+", said)


def test_a_wrong_secret_is_an_error_that_does_not_tell_it(seaweedfs, monkeypatch):
    url = f"s3://{seaweedfs.bucket}/probe"
    done = probe(seaweedfs, url, code=1, monkeypatch=monkeypatch, secret="a-wrong-one")
    assert "the store does not allow it" in done.stderr
    assert "a-wrong-one" not in done.output


@pytest.mark.parametrize(
    ("url", "options", "said"),
    [
        ("gs://bucket/prefix", [], "this kind of store cannot be probed"),
        ("http://127.0.0.1:9/file", ["--write"], "a plain web server cannot be written to"),
        ("http://127.0.0.1:9/file", ["--object", "x"], "names one file itself"),
        ("folder", [], "this is no URL of an object store"),
    ],
)
def test_what_cannot_be_is_refused(url, options, said):
    done = CliRunner().invoke(main, ["probe", url, *options])
    assert done.exit_code == 2
    assert said in done.stderr


def test_where_there_is_no_object_it_says_what_to_do(seaweedfs, monkeypatch):
    url = f"s3://{seaweedfs.bucket}/probe/nothing"
    assert "name one with --object" in probe(seaweedfs, url, code=2, monkeypatch=monkeypatch).stderr
    said = probe(seaweedfs, url, "--object", "gone", code=2, monkeypatch=monkeypatch).stderr
    assert "there is no such object" in said


def test_what_there_was_no_time_for_was_not_asked(seaweedfs, monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", seaweedfs.access_key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", seaweedfs.secret)
    store = ObjectStore(f"s3://{seaweedfs.bucket}/late", Access(endpoint=seaweedfs.endpoint))
    target = Target("object", 1000, Answer(200))
    checks = list(reading_checks(Asker(store, ends=0.0), target))
    assert {(check.verdict.value, check.seen) for check in checks} == {("not asked", "the time was up")}
    assert len(checks) == len(READING)
