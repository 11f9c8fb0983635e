"""Lists of images: path and label per line, packed and opened in place."""

from pathlib import Path

import pytest

import penstock
from penstock.errors import SourceError, UsageError
from penstock.ingest.kind import Options
from penstock.ingest.kinds import kind_at, open_source
from tests import folders
from tests.ingest.conformance import CHECKS, Case, Made, name

FILES = {
    "train/cat/1.jpg": folders.jpeg(1),
    "train/dog/7.png": folders.png(2),
    "train/cat, small/2.jpg": folders.jpeg(3),
    "train/über/x.y.JPG": folders.jpeg(4),
    "other.jpg": folders.jpeg(5),
}
LINES = "train/dog/7.png,dog\n./train/cat, small/2.jpg, cat \n\ntrain/über/x.y.JPG,NA\ntrain/cat/1.jpg,cat\n"


def made(root: Path, lines: str = LINES) -> Made:
    folders.write(root, {**FILES, "train.txt": lines.encode()})
    names = ["train/dog/7.png", "train/cat, small/2.jpg", "train/über/x.y.JPG", "train/cat/1.jpg"]
    return Made(
        path=str(root / "train.txt"),
        keys=["train/dog/7", "train/cat, small/2", "train/über/x%2Ey", "train/cat/1"],
        pictures=[[FILES[name]] for name in names],
        labels={"label": [2, 1, 0, 1]},
        classes=("NA", "cat", "dog"),
    )


def change(root: Path) -> None:
    folders.write(root, {"train/cat/1.jpg": folders.jpeg(99)})


def lose(root: Path) -> str:
    (root / "train/dog/7.png").unlink()
    return "train/dog/7.png"


@pytest.mark.parametrize("check", CHECKS, ids=name)
def test_a_list_of_images_is_a_source_like_any_other(check, tmp_path):
    check(Case("image-list", made, change, lose, is_of_files=True), tmp_path)


def test_whole_numbers_stay_the_labels_that_they_are(tmp_path):
    path = made(tmp_path, "train/cat/1.jpg,10\ntrain/dog/7.png,9\n").path
    source = open_source(path)
    assert (source.label_values(), source.classes) == ({"label": [10, 9]}, None)
    (tmp_path / "names.txt").write_text("\n".join(f"class {number}" for number in range(11)))
    source = open_source(path, options=Options(labels=str(tmp_path / "names.txt")))
    assert (source.label_values(), source.classes[10]) == ({"label": [10, 9]}, "class 10")
    (tmp_path / "names.txt").write_text("a\nb\n")
    with pytest.raises(SourceError, match=r"labels that are no class: got 9 to 10, expected 0 to 1"):
        open_source(path, options=Options(labels=str(tmp_path / "names.txt")))


def test_lines_without_labels_make_images_without_labels(tmp_path):
    source = open_source(made(tmp_path, "other.jpg\ntrain/cat, small/2.jpg\n").path)
    assert (source.keys, source.label_values(), source.classes) == (["other", "train/cat, small/2"], {}, None)


def test_a_line_without_a_label_among_others_is_reported(tmp_path):
    source = open_source(made(tmp_path, "other.jpg\ntrain/cat/1.jpg,cat\ntrain/dog/7.png,\n").path)
    assert (source.keys, source.classes) == (["train/cat/1"], ("cat",))
    assert [(item.name, item.outcome) for item in source.skipped] == [
        ("other.jpg", "unlabelled"),
        ("train/dog/7.png", "unlabelled"),
    ]


def test_the_root_may_be_elsewhere_and_in_place_too(tmp_path):
    lines = made(tmp_path / "images").path
    path = tmp_path / "list.csv"
    path.write_text(Path(lines).read_text())
    with pytest.raises(SourceError, match=r"(?s)nothing that the list names is there.*--root"):
        open_source(str(path))
    assert len(open_source(str(path), options=Options(root=str(tmp_path / "images")))) == 4
    opened = penstock.open(path, root=tmp_path / "images")
    assert [sample.image().shape for sample in opened] == [(24, 40, 3)] * 4
    with pytest.raises(UsageError, match="root and classes are about indexes of objects"):
        penstock.open(path, classes=1)
    with pytest.raises(UsageError, match="root and classes are about indexes of objects"):
        penstock.open(tmp_path / "images", root=tmp_path)


def test_two_lists_of_one_folder_are_opened_one_after_the_other(tmp_path):
    first = made(tmp_path).path
    (tmp_path / "test.txt").write_text("other.jpg,dog\n")
    assert [len(penstock.open(path)) for path in (first, tmp_path / "test.txt", first)] == [4, 1, 4]


def test_paths_may_be_absolute_if_they_lie_below_the_root(tmp_path):
    path = made(tmp_path, f"{tmp_path}/train/cat/1.jpg,cat\n").path
    assert open_source(path).keys == ["train/cat/1"]


@pytest.mark.parametrize("line", ["/etc/1.jpg,cat", "../1.jpg,cat", "train//cat/1.jpg,cat", "train/./1.jpg,cat"])
def test_a_path_that_leads_out_is_refused(tmp_path, line):
    path = made(tmp_path, f"other.jpg,cat\n{line}\n").path
    with pytest.raises(SourceError, match=r"a name leads out of the root: got line 2: "):
        open_source(path, "image-list")


def test_an_image_that_is_named_twice_is_an_error_or_taken_once(tmp_path):
    path = made(tmp_path / "source", "other.jpg,a\ntrain/cat/1.jpg,b\nother.jpg,b\n").path
    for act in (lambda: penstock.pack(path, tmp_path / "l.pen"), lambda: penstock.open(path)):
        with pytest.raises(SourceError, match=r"1 keys have several samples: got other \(2 times\)"):
            act()
    assert penstock.pack(path, tmp_path / "l.pen", remove_duplicates=True).samples == 2
    dataset = penstock.open(tmp_path / "l.pen")
    assert {sample.key: sample.labels for sample in dataset} == {"other": {"label": 0}, "train/cat/1": {"label": 1}}


@pytest.mark.parametrize("text", [b"", b"\n\n", "été.jpg,a".encode("latin-1")])
def test_a_list_that_is_none_is_named(tmp_path, text):
    (tmp_path / "list.txt").write_bytes(text)
    with pytest.raises(SourceError, match=r"the list is .*list\.txt"):
        open_source(str(tmp_path / "list.txt"), "image-list")


def test_other_text_is_not_taken_for_a_list(tmp_path):
    (tmp_path / "notes.txt").write_text("remember, milk\n")
    with pytest.raises(UsageError, match="there is no dataset here"):
        kind_at(str(tmp_path / "notes.txt"))
