"""A folder of images as a source among others (what is found in it: test_listing.py)."""

from pathlib import Path

import pytest

from tests import folders
from tests.ingest.conformance import CHECKS, Case, Made, name

FILES = {f"{'cat' if i < 4 else 'dog'}/{i}.jpg": folders.jpeg(i) for i in range(7)}


def made(root: Path) -> Made:
    return Made(
        path=str(folders.write(root, FILES)),
        keys=[file.removesuffix(".jpg") for file in FILES],
        pictures=[[data] for data in FILES.values()],
        labels={"label": [0, 0, 0, 0, 1, 1, 1]},
        classes=("cat", "dog"),
    )


def change(root: Path) -> None:
    folders.write(root, {"cat/2.jpg": folders.jpeg(99)})


def lose(root: Path) -> str:
    folders.write(root, {"dog/5.jpg": FILES["dog/5.jpg"][:200]})
    return "dog/5.jpg"


@pytest.mark.parametrize("check", CHECKS, ids=name)
def test_a_folder_of_images_is_a_source_like_any_other(check, tmp_path):
    check(Case("image-folder", made, change, lose), tmp_path)
