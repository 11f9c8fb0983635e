"""Whether a video file is whole, by its container alone."""

import pytest

from penstock.errors import SourceError
from penstock.ingest.container import check_whole
from tests import videos


@pytest.mark.parametrize("suffix", videos.CODECS)
def test_a_whole_file_is_and_none_of_its_beginnings(tmp_path, suffix):
    data, path = videos.video(suffix), tmp_path / "video"
    path.write_bytes(data)
    check_whole(str(path))
    for length in {*range(16, len(data), 97), len(data) - 1}:
        path.write_bytes(data[:length])
        if not _ends_between_boxes(data, length):
            with pytest.raises(SourceError, match=f"cut off: got {length} bytes, expected at least"):
                check_whole(str(path))


def _ends_between_boxes(data, length):
    """An MP4 that ends with one of its boxes cannot be told from a whole one; FFmpeg misses the others."""
    position = 0
    while data[4:8] == b"ftyp" and position < length:
        position += int.from_bytes(data[position : position + 4], "big")
    return position == length


def test_what_follows_a_file_does_no_harm(tmp_path):
    path = tmp_path / "video.avi"
    path.write_bytes(videos.video("avi") + b"more")
    check_whole(str(path))


def test_a_live_recording_does_not_know_its_length(tmp_path):
    data = videos.video("webm", options=(("live", "1"),))
    path = tmp_path / "video.webm"
    path.write_bytes(data[: len(data) // 2])
    check_whole(str(path))


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"\0\0\0\x01mdat" + (40).to_bytes(8, "big") + bytes(23), 40),
        (b"\0\0\0\x08free\0\0\0\x0amdat", 18),
        (b"\0\0\0\x02free\0\0\0\x09moov", 17),
        (b"\x1aE\xdf\xa3\x84abcd", 13),
        (b"\x1aE\xdf\xa3\x01" + b"\xff" * 6 + b"\xfe", 12 + (1 << 56) - 2 + 4),
        (b"\x1aE\xdf\xa3\x84abcd\x18S\x80g\x82x", 16),
        (b"\x1aE\xdf\xa3\x84abcd\x18S\x80g\x40\x03xx", 18),
    ],
)
def test_lengths_are_read_in_all_their_forms(tmp_path, data, expected):
    path = tmp_path / "video"
    path.write_bytes(data)
    with pytest.raises(SourceError, match=f"expected at least {expected}$"):
        check_whole(str(path))


@pytest.mark.parametrize(
    "data", [b"\0\0\0\0mdat" + bytes(5), b"\x1aE\xdf\xa3\x84abcd\x18S\x80g\xff", b"something else"]
)
def test_no_length_means_to_the_end(tmp_path, data):
    path = tmp_path / "video"
    path.write_bytes(data)
    check_whole(str(path))
