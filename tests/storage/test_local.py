"""Local files: whole or not at all, and errors that say what to do."""

import errno
import os

import numpy as np
import pytest

from penstock.errors import StorageError
from penstock.storage.growing import GrowingFile
from penstock.storage.local import fill_block, read_file, read_start, storage_error, write_atomically
from penstock.storage.ranges import plan_reads


def test_a_written_file_is_there_whole_and_alone(tmp_path):
    path = str(tmp_path / "file")
    write_atomically(path, b"one")
    write_atomically(path, b"two")
    assert read_file(path) == b"two"
    assert read_start(path, 2) == b"tw"
    assert os.listdir(tmp_path) == ["file"]


def test_a_failed_write_leaves_the_old_file_and_no_remains(tmp_path, monkeypatch):
    path = str(tmp_path / "file")
    write_atomically(path, b"old")

    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StorageError, match="disk is full") as caught:
        write_atomically(path, b"new")
    assert caught.value.errno == errno.ENOSPC
    assert read_file(path) == b"old"
    assert os.listdir(tmp_path) == ["file"]


def test_a_full_disk_is_reported_by_a_growing_file(tmp_path):
    growing = GrowingFile(str(tmp_path / "file"), "/dev/full")
    with pytest.raises(StorageError, match=r"No space left(.|\n)*make room and run the same command again"):
        growing.append(b"x")
    growing.discard()


def test_a_growing_file_has_its_name_only_when_finished(tmp_path):
    growing = GrowingFile(str(tmp_path / "file"), str(tmp_path / "partial"))
    growing.append(b"ab")
    growing.append(b"c")
    assert os.listdir(tmp_path) == ["partial"]
    growing.finish()
    assert os.listdir(tmp_path) == ["file"]
    assert read_file(str(tmp_path / "file")) == b"abc"
    assert (growing.bytes, growing.sha256[:8]) == (3, "ba7816bf")


def test_a_pipe_is_read_to_its_end(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    if os.fork() == 0:
        with open(tmp_path / "pipe", "wb") as pipe:
            pipe.write(b"z" * 200_000)
        os._exit(0)
    assert read_file(str(tmp_path / "pipe")) == b"z" * 200_000
    os.wait()


def test_a_plan_is_carried_out_over_several_files(tmp_path):
    for number in range(2):
        (tmp_path / str(number)).write_bytes(bytes(range(number * 100, number * 100 + 100)))
    plan = plan_reads(np.array([1, 0, 1], np.int32), np.array([10, 5, 60]), np.array([3, 2, 4]), gap_bytes=10)
    block = np.zeros(plan.block_bytes, np.uint8)
    paths = [os.fsencode(tmp_path / str(number)) for number in range(2)]
    assert fill_block(paths, plan, block) == []
    assert [block[start] for start in plan.start] == [110, 5, 160]


def test_an_error_of_the_system_keeps_its_number_and_file():
    error = storage_error(OSError(errno.EACCES, "Permission denied", "/x/y"))
    assert (error.errno, error.file) == (errno.EACCES, "/x/y")
    assert "check the permissions" in str(error)
