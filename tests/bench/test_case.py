"""The case."""

from __future__ import annotations

import pytest

from penstock.bench import Case
from penstock.errors import UsageError


def test_ids_follow_classes_then_names_as_strings(tmp_path):
    for name in ("b/2.jpg", "b/10.JPG", "a/z.png", "a/deep/y.jpg", "a/notes.txt", "a/deep-er.jpg"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    found = [(path.removeprefix(str(tmp_path) + "/"), label) for path, label in Case.of(str(tmp_path)).files()]
    assert found == [("a/deep-er.jpg", 0), ("a/deep/y.jpg", 0), ("a/z.png", 0), ("b/10.JPG", 1), ("b/2.jpg", 1)]


def test_other_forms_lie_beside_the_folder_unless_told(tmp_path):
    assert Case.of(str(tmp_path / "photos")).form("pen") == tmp_path / "photos.pen"
    assert (
        Case.of(str(tmp_path / "photos"), forms="elsewhere").form("raw.beton").as_posix()
        == "elsewhere/photos.raw.beton"
    )


def test_it_travels_as_json():
    case = Case.of("photos", workers=3, seed=5)
    assert Case.from_json(case.to_json()) == case


def test_a_folder_without_images_is_refused(tmp_path):
    with pytest.raises(UsageError, match="one subfolder per class"):
        Case.of(str(tmp_path)).files()
    with pytest.raises(UsageError, match="no such image folder"):
        Case.of(str(tmp_path / "nowhere")).files()


def test_settings_without_work_are_refused():
    with pytest.raises(UsageError, match="workers"):
        Case.of("photos", workers=0)
