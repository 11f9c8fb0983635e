"""A video becomes frames: all, or one per tick; upright, scaled, the same bytes every time; damage is named."""

import io
import random
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from penstock.errors import SourceError, UsageError
from penstock.ingest import video
from penstock.ingest.recipe import Recipe
from penstock.ingest.video import at_rate, oriented, video_frames
from tests import images, videos


def written(tmp_path, data, suffix="mp4"):
    path = tmp_path / f"video.{suffix}"
    path.write_bytes(data)
    return str(path)


def jpeg(pixels, quality=90):
    sink = io.BytesIO()
    Image.fromarray(pixels).save(sink, "JPEG", quality=quality)
    return sink.getvalue()


@pytest.mark.parametrize("suffix", videos.CODECS)
def test_every_frame_is_kept_as_it_is_decoded(tmp_path, suffix):
    path = written(tmp_path, videos.video(suffix), suffix)
    frames = video_frames(path, None, Recipe())
    assert frames == [jpeg(pixels) for pixels in videos.decoded(path)]
    assert len(frames) == 10
    assert video_frames(path, None, Recipe()) == frames


@pytest.mark.parametrize("suffix", ["mp4", "webm", "mkv"])
@pytest.mark.parametrize("rate", [1, 4, 10, 12.5, 30])
def test_a_rate_takes_the_frame_nearest_to_each_tick(tmp_path, suffix, rate):
    path = written(tmp_path, videos.video(suffix, videos.UNEVEN), suffix)
    every = [jpeg(pixels) for pixels in videos.decoded(path)]
    *begins, end = videos.times(path)
    ticks = max(1, int((end - begins[0]) * Fraction(rate) + Fraction(1, 2)))
    expected = []
    for tick in range(ticks):
        distance = [abs(begins[0] + tick / Fraction(rate) - begin) for begin in begins]
        expected.append(every[distance.index(min(distance))])
    assert video_frames(path, rate, Recipe()) == expected


def test_a_video_of_one_rate_keeps_every_frame_at_that_rate_and_every_second_at_half(tmp_path):
    path = written(tmp_path, videos.video("mp4", videos.even(10)))
    every = video_frames(path, None, Recipe())
    assert video_frames(path, 10, Recipe()) == every
    assert video_frames(path, 5, Recipe()) == every[::2]


@given(
    st.lists(st.fractions(0, 100, max_denominator=48_000), min_size=1, max_size=30).map(sorted),
    st.fractions(0, 2, max_denominator=1000),
    st.fractions(Fraction(1, 10), 60, max_denominator=1001),
)
def test_ticks_are_even_and_each_shows_the_nearest_frame(begins, duration, rate):
    made = []
    found = at_rate(
        [(begin, duration, number) for number, begin in enumerate(begins)], rate, lambda n: made.append(n) or n
    )
    gap = duration or ((begins[-1] - begins[0]) / (len(begins) - 1) if len(begins) > 1 else 0)
    assert len(found) == max(1, int((begins[-1] + gap - begins[0]) * rate + Fraction(1, 2)))
    for tick, number in enumerate(found):
        time = begins[0] + tick / rate
        assert abs(begins[number] - time) == min(abs(begin - time) for begin in begins)
    assert found == sorted(found)
    assert len(made) == len(set(made))


def test_no_frames_are_no_frames_at_any_rate():
    assert at_rate([], Fraction(8), int) == []


def test_times_that_go_back_are_refused():
    frames = [(Fraction(time), Fraction(1), None) for time in (0, 2, 1)]
    with pytest.raises(SourceError, match=r"the frames' times go back: got 1\.000 s, expected 2\.000 s or later"):
        at_rate(frames, Fraction(1), lambda _: 0)


def test_a_frame_is_not_repeated_without_end():
    for frames in (
        [(Fraction(0), Fraction(0), 0), (Fraction(10**9), Fraction(0), 1)],
        [(Fraction(0), Fraction(10**9), 0)],
    ):
        with pytest.raises(SourceError, match="shown for too long: got 1000000000 s, expected at most 600 s"):
            at_rate(frames, Fraction(8), int)


def test_frames_that_are_too_large_are_refused_before_they_are_decoded(tmp_path, monkeypatch):
    monkeypatch.setattr(video, "MAX_PIXELS", 64 * 48 - 1)
    with pytest.raises(SourceError, match="the video cannot be decoded"):
        video_frames(written(tmp_path, videos.video()), None, Recipe())


@pytest.mark.parametrize("suffix", videos.CODECS)
def test_damage_anywhere_gives_frames_or_a_reason_and_nothing_else(tmp_path, suffix):
    chance, whole, refused = random.Random(suffix), videos.video(suffix), 0
    for attempt in range(60):
        data = bytearray(whole)
        for _ in range(1 + attempt % 4):
            data[int(chance.random() ** 2 * len(data))] = chance.randrange(256)
        try:
            frames = video_frames(written(tmp_path, data, suffix), chance.choice([None, 8]), Recipe())
        except SourceError:
            refused += 1
        else:
            assert all(images.rgb(frame).ndim == 3 for frame in frames)
    assert 0 < refused < 60


def test_the_shorter_side_and_the_quality_are_those_of_the_recipe(tmp_path):
    path = written(tmp_path, videos.video())
    frames = video_frames(path, None, Recipe(short_side=24, quality=70))
    sized = [Image.fromarray(pixels).resize((32, 24), Image.Resampling.LANCZOS) for pixels in videos.decoded(path)]
    assert frames == [jpeg(np.asarray(image), 70) for image in sized]


TURNS = {
    (0, False): (),
    (90, False): (Image.Transpose.ROTATE_90,),
    (180, False): (Image.Transpose.ROTATE_180,),
    (-90, False): (Image.Transpose.ROTATE_270,),
    (0, True): (Image.Transpose.FLIP_LEFT_RIGHT,),
    (90, True): (Image.Transpose.ROTATE_90, Image.Transpose.FLIP_LEFT_RIGHT),
    (180, True): (Image.Transpose.FLIP_TOP_BOTTOM,),
    (-90, True): (Image.Transpose.ROTATE_270, Image.Transpose.FLIP_LEFT_RIGHT),
}


@pytest.mark.parametrize(("degrees", "mirrored"), TURNS)
def test_a_turned_or_mirrored_video_comes_out_upright(tmp_path, degrees, mirrored):
    path = written(tmp_path, videos.video(degrees=degrees, mirrored=mirrored))
    (stored, *_) = videos.decoded(path)
    upright = Image.fromarray(stored)
    for turn in TURNS[degrees, mirrored]:
        upright = upright.transpose(turn)
    assert video_frames(path, None, Recipe())[0] == jpeg(np.asarray(upright))


def test_a_short_side_is_that_of_the_upright_frame(tmp_path):
    path = written(tmp_path, videos.video(degrees=90))
    with Image.open(io.BytesIO(video_frames(path, None, Recipe(max_side=32))[0])) as image:
        assert image.size == (24, 32)


def test_a_video_at_an_odd_angle_is_refused(tmp_path):
    path = written(tmp_path, videos.video(degrees=30))
    with pytest.raises(SourceError, match="turned by an odd angle"):
        video_frames(path, None, Recipe())


def test_a_matrix_without_a_turn_changes_nothing():
    pixels = images.photo(5, 3)
    assert np.array_equal(oriented(pixels, (65536, 0, 0, 0, 65536, 0, 0, 0, 1 << 30)), pixels)


@pytest.mark.parametrize("suffix", videos.CODECS)
@pytest.mark.parametrize("share", [0, 0.02, 0.3, 0.6, 0.9, 0.99])
def test_a_file_that_was_cut_off_is_refused(tmp_path, suffix, share):
    data = videos.video(suffix)
    path = written(tmp_path, data[: int(len(data) * share)], suffix)
    with pytest.raises(SourceError, match=r"cut off|empty|cannot be decoded"):
        video_frames(path, None, Recipe())


@pytest.mark.parametrize("suffix", ["mp4", "mov"])
def test_damaged_frames_are_refused_and_not_patched_up(tmp_path, suffix):
    """The stream's bytes are overwritten, the container's are not."""
    data = bytearray(videos.video(suffix, videos.even(20)))
    start = data.index(b"mdat") + 4
    length = int.from_bytes(data[start - 8 : start - 4], "big") - 8
    data[start + length // 2 : start + length // 2 + 40] = bytes(range(200, 240))
    with pytest.raises(SourceError, match=r"is corrupt|cannot be decoded"):
        video_frames(written(tmp_path, data, suffix), None, Recipe())


@pytest.mark.parametrize("rate", [None, 8])
@pytest.mark.parametrize("suffix", ["mp4", "mkv", "webm"])
def test_a_video_without_frames_is_refused(tmp_path, suffix, rate):
    with pytest.raises(SourceError, match=r"the video has no frames|there is no video|End of file"):
        video_frames(written(tmp_path, videos.video(suffix, ()), suffix), rate, Recipe())


def test_a_file_of_sound_alone_is_refused(tmp_path):
    with pytest.raises(SourceError, match="there is no video in the file"):
        video_frames(written(tmp_path, videos.sound()), None, Recipe())


@pytest.mark.parametrize(
    ("data", "why"),
    [(b"", "the file is empty"), (b"no video at all" * 9, "cannot be decoded"), (b"\0" * 99, "decoded")],
)
def test_what_is_no_video_is_refused(tmp_path, data, why):
    with pytest.raises(SourceError, match=why):
        video_frames(written(tmp_path, data), None, Recipe())


def test_a_playlist_in_the_guise_of_a_video_reads_no_other_file(tmp_path):
    written(tmp_path, videos.video())
    playlist = "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nvideo.mp4\n#EXT-X-ENDLIST\n"
    (tmp_path / "list.mp4").write_text(playlist)
    (tmp_path / "concat.mp4").write_text("ffconcat version 1.0\nfile video.mp4\n")
    for name in ("list.mp4", "concat.mp4"):
        with pytest.raises(SourceError, match="cannot be decoded"):
            video_frames(str(tmp_path / name), None, Recipe())


def test_names_that_are_no_text_are_opened_like_others(tmp_path):
    path = str(tmp_path / b"caf\xe9:1.mp4".decode("utf-8", "surrogateescape"))
    with open(path, "wb") as file:
        file.write(videos.video())
    assert len(video_frames(path, None, Recipe())) == 10


@pytest.mark.parametrize("suffix", ["mp4", "mkv"])
def test_a_title_that_is_no_text_does_no_harm(tmp_path, suffix):
    data = videos.video(suffix)
    assert b"Lavf" in data  # the name of the writer, which is metadata, too
    assert len(video_frames(written(tmp_path, data.replace(b"Lavf", b"L\xe4vf"), suffix), None, Recipe())) == 10


def test_without_pyav_the_error_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(UsageError, match=r"pip install penstock\[video\]"):
        video_frames(written(tmp_path, videos.video()), None, Recipe())
