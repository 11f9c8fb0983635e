"""Sample photographs."""

from __future__ import annotations

from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from penstock.errors import UsageError
from penstock.testing import jpeg, photo, write_photos


def test_an_image_depends_on_seed_and_number_alone():
    assert np.array_equal(photo(3, seed=1), photo(3, seed=1))
    assert not np.array_equal(photo(3, seed=1)[:100, :100], photo(3, seed=2)[:100, :100])
    assert not np.array_equal(photo(3)[:100, :100], photo(4)[:100, :100])


def test_images_cost_what_photographs_cost():
    sizes = [len(jpeg(number, size=(500, 375), quality=90)) for number in range(24)]
    assert 65_000 < np.mean(sizes) < 95_000
    assert min(sizes) > 40_000
    assert len({photo(number).shape for number in range(40)}) > 3


def test_the_texture_falls_with_frequency_as_a_photographs_does():
    grey = np.mean([photo(number, size=(256, 256)).mean(axis=2) for number in range(8)], axis=0)
    power = np.abs(np.fft.fft2(grey - grey.mean())) ** 2
    low, middle = power[1:8, 1:8].mean(), power[16:32, 16:32].mean()
    assert low > 10 * middle > 10 * power[64:, 64:192].mean()


def test_the_encoding_is_the_one_asked_for():
    assert Image.open(BytesIO(jpeg(0, size=(40, 30)))).size == (40, 30)
    assert len(jpeg(0, subsampling=0)) > len(jpeg(0))
    with pytest.raises(UsageError, match="sample image size"):
        photo(0, size=(0, 10))


def test_a_set_has_its_count_in_its_classes_and_counts_its_bytes(tmp_path):
    done = []
    written = write_photos(tmp_path / "out", count=7, classes=3, progress=done.append)
    files = sorted((tmp_path / "out").rglob("*.jpg"))
    assert [path.parent.name for path in files] == ["class_000"] * 3 + ["class_001"] * 2 + ["class_002"] * 2
    assert written == sum(path.stat().st_size for path in files)
    assert sum(done) == 7
    assert (tmp_path / "out" / "class_001" / "photo_000004.jpg").read_bytes() == jpeg(4)


def test_a_folder_with_something_in_it_is_not_touched(tmp_path):
    (tmp_path / "mine").touch()
    with pytest.raises(UsageError, match="not empty"):
        write_photos(tmp_path, count=1)
    with pytest.raises(UsageError, match="at least one"):
        write_photos(tmp_path / "new", count=0)
