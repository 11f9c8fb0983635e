"""What is asked with objects of our own: conditions of writing, metadata, uploads in parts, names that need care."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

from penstock.bench.endpoint.contract import NotAsked, Rule, Seen, judge_range, judge_status
from penstock.errors import StorageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.bench.endpoint.asking import Answer, Asker
    from penstock.bench.endpoint.contract import Check
    from penstock.bench.endpoint.scratch import Scratch

__all__ = ["no_writing_checks", "writing_checks"]

PART_BYTES = 5 * 2**20  # S3 takes no smaller one but for the last
LAST_BYTES = 1000
AWKWARD = ("a b", "Ü", "100%", "a%20b", "a+b")
_UPLOAD = re.compile(rb"<UploadId>([^<]+)</UploadId>")


def _if_none_match(asker: Asker, own: Scratch) -> Seen:
    name = own.name("once")
    asker.store.write(name, b"first")
    return judge_status(asker.ask("PUT", name, headers={"If-None-Match": "*"}, body=b"second"), 412)


def _metadata(asker: Asker, own: Scratch) -> Seen:
    name = own.name("described")
    asker.store.write(name, b"data", metadata={"probe-kind": "Some Text"})
    answer = asker.ask("HEAD", name)
    sent = [key for key, value in answer.headers if key.lower() == "x-amz-meta-probe-kind" and value == "Some Text"]
    if not sent:
        return Seen(False, f"{answer}, none")
    is_kept = sent[0].endswith("probe-kind")
    return Seen(is_kept, "name and text as given" if is_kept else f"the name as {sent[0][len('x-amz-meta-') :]}")


def _begun(asker: Asker, own: Scratch, name: str) -> str:
    """Begin an upload in parts; its number."""
    found = _UPLOAD.search(asker.ask("POST", name, query={"uploads": ""}).body)
    if found is None:
        raise NotAsked("no upload in parts could be begun")
    number = found[1].decode("utf-8", "replace")
    own.note_upload(name, number)
    return number


def _put(asker: Asker, name: str, upload: str, part: int, data: bytes) -> Answer:
    return asker.ask("PUT", name, query={"partNumber": str(part), "uploadId": upload}, body=data)


def _parts(asker: Asker, own: Scratch) -> Seen:
    """Send the second part first, then look across the seam."""
    name = own.name("parts")
    upload = _begun(asker, own, name)
    second = _put(asker, name, upload, 2, b"2" * LAST_BYTES)
    first = _put(asker, name, upload, 1, b"1" * PART_BYTES)
    parts = "".join(
        f"<Part><PartNumber>{number}</PartNumber><ETag>{answer.header('etag')}</ETag></Part>"
        for number, answer in ((1, first), (2, second))
    )
    body = f"<CompleteMultipartUpload>{parts}</CompleteMultipartUpload>".encode()
    done = asker.ask("POST", name, query={"uploadId": upload}, body=body)
    if done.status != 200:
        return Seen(False, f"{done} at the end")
    size, seam = PART_BYTES + LAST_BYTES, (PART_BYTES - 5, PART_BYTES + 5)
    answer = asker.ask("GET", name, headers={"Range": f"bytes={seam[0]}-{seam[1] - 1}"})
    is_right = (answer.header("content-range") or "").endswith(f"/{size}") and answer.body == b"1111122222"
    return Seen(is_right, "one object" if is_right else f"{answer}, not what was sent")


def _parts_etag(asker: Asker, own: Scratch) -> Seen:
    """Look at what the check before has left."""
    answer = asker.ask("HEAD", f"{own.folder}/parts")
    if answer.status != 200:
        raise NotAsked("there is no object that came in parts")
    etag = (answer.header("etag") or "").strip('"')
    ends = re.search(r"-\d+$", etag)
    return Seen(
        ends is not None and ends[0] == "-2", f"ends in {ends[0]}" if ends else f"{len(etag)} characters, no -2"
    )


def _abort(asker: Asker, own: Scratch) -> Seen:
    name = own.name("given-up")
    upload = _begun(asker, own, name)
    _put(asker, name, upload, 1, b"1" * LAST_BYTES)
    ended = asker.ask("DELETE", name, query={"uploadId": upload})
    later = _put(asker, name, upload, 2, b"2" * LAST_BYTES)
    there = asker.ask("HEAD", name)
    is_so = (ended.status, later.status, there.status) == (204, 404, 404)
    return Seen(is_so, f"{ended}; a part later: {later}; the object: {there}")


def _awkward(asker: Asker, own: Scratch) -> Seen:
    wrong = []
    for number, short in enumerate(AWKWARD):
        asker.left()
        name, data = own.name(f"names/{short}"), f"this is {number}".encode()
        try:
            asker.store.write(name, data)
            is_listed = name in {found.name for found in asker.store.list(name)}
            answer = asker.ask("GET", name, headers={"Range": "bytes=0-8"})
            read = asker.store.read(name)
            is_asked = judge_range(answer, 0, 9, size=9, known=data).is_expected or answer.body == data
        except StorageError:
            is_listed = is_asked = False
            read = b""
        if not (is_listed and is_asked and read == data):
            wrong.append(short)
    return Seen(not wrong, f"not kept: {', '.join(map(repr, wrong))}" if wrong else f"{len(AWKWARD)} kept")


RULES = (
    (
        Rule(
            "PUT with If-None-Match: *",
            "412 where there is an object",
            "The server can keep two writers of one name apart.",
            "The server keeps no two writers apart: see to it that each dataset has one.",
        ),
        _if_none_match,
    ),
    (
        Rule(
            "metadata",
            "kept, the name in lower case",
            "What others note about objects is kept.",
            "penstock notes nothing there; do not rely on it for anything else.",
        ),
        _metadata,
    ),
    (
        Rule(
            "parts in any order",
            "one object of all parts",
            "Large files are written in parts, several at a time.",
            "Large files cannot be written here.",
            is_needed=True,
        ),
        _parts,
    ),
    (
        Rule(
            "ETag of an object in parts",
            "ends in -2, the number of parts",
            "It shows that it is no MD5 of the object.",
            "It does not show how the object came; penstock takes no ETag for an MD5.",
        ),
        _parts_etag,
    ),
    (
        Rule(
            "giving up an upload in parts",
            "204, then 404 for another part, and no object",
            "What is interrupted leaves nothing that costs.",
            "What is interrupted may leave parts that cost: have the store remove old ones.",
        ),
        _abort,
    ),
    (
        Rule(
            "names with blanks, Ü, % and +",
            "written, listed and read under the same name",
            "Files of any name can be kept here.",
            "Files with such names cannot be read here: pack them, or name them otherwise.",
            is_needed=True,
        ),
        _awkward,
    ),
)


def writing_checks(asker: Asker, own: Scratch) -> Iterator[Check]:
    """Write, and ask."""
    for rule, look in RULES:
        yield rule.check(partial(look, asker, own))


def no_writing_checks(why: str) -> Iterator[Check]:
    """Say of all of it that it was not asked."""
    return (rule.not_asked(why) for rule, _ in RULES)
