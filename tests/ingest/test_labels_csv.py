"""Labels from CSV: rows and images match one to one, or it is said which do not."""

import pytest

from penstock.errors import SourceError, StorageError, UsageError
from penstock.ingest.kind import Options
from penstock.ingest.kinds import open_source
from tests import folders


def source_of(tmp_path, text, names=("1.jpg", "sub/2.jpg")):
    folders.write(tmp_path / "photos", dict.fromkeys(names, b""))
    (tmp_path / "l.csv").write_text(text)
    return open_source(str(tmp_path / "photos"), options=Options(labels=str(tmp_path / "l.csv")))


def test_rows_name_images_with_or_without_their_suffix(tmp_path):
    source = source_of(tmp_path, "path,label\nsub/2,b\n1.jpg,a\n")
    assert source.keys == ["1", "sub/2"]
    assert source.labels.column("label").to_pylist() == [0, 1]
    assert source.classes == ("a", "b")


def test_rows_may_name_images_as_find_lists_them(tmp_path):
    source = source_of(tmp_path, "file,label\n./sub/2.jpg,b\n./1,a\n")
    assert source.labels.column("label").to_pylist() == [0, 1]
    with pytest.raises(SourceError, match=r"two rows for one image.*lines 2 and 3"):
        source_of(tmp_path, "file,label\n./1.jpg,a\n1.jpg,b\n")


def test_the_file_column_may_have_any_name_if_it_is_the_first(tmp_path):
    source = source_of(tmp_path, "id,label,size\n1,5,0.5\nsub/2,7,1.5\n")
    assert source.labels.to_pylist() == [{"label": 5, "size": 0.5}, {"label": 7, "size": 1.5}]
    assert source.classes is None


def test_names_that_look_like_numbers_stay_names(tmp_path):
    source = source_of(tmp_path, "file,label\n0001,x\n0002,NA\n", names=("0001.jpg", "0002.jpg"))
    assert source.keys == ["0001", "0002"]
    assert source.classes == ("NA", "x")


def test_an_image_without_a_row_is_unlabelled(tmp_path):
    source = source_of(tmp_path, "file,label\n1.jpg,a\n")
    assert [(item.name, item.outcome) for item in source.skipped] == [("sub/2.jpg", "unlabelled")]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("file,label\n1.jpg,a\nsub/2.jpg,b\n3.jpg,c\n", "1 rows name no image.*line 4: 3.jpg"),
        ("file,label\n1.jpg,a\n1.jpg,b\n", "two rows for one image.*lines 2 and 3"),
        ("file,label\n1.jpg,a\nsub/2.jpg,\n", "1 rows have no label"),
        ("file,age\n1.jpg,3\nsub/2.jpg,\n", "1 rows have no age"),
        ("file\n1.jpg\n", "one column"),
        ("file,label,label\n1.jpg,a,b\n", "two columns have one name: got 'label'"),
        ("file,file,label\n1.jpg,1.jpg,b\n", "two columns have one name: got 'file'"),
        ("file,label\n", r"the labels name no image.*l\.csv"),
        ("file,label\n1.jpg,a,b\n", "cannot be read"),
        ("", "cannot be read"),
    ],
)
def test_a_wrong_file_of_labels_is_refused(tmp_path, text, words):
    with pytest.raises(SourceError, match=words):
        source_of(tmp_path, text)


def test_a_folder_without_images_is_what_is_wrong_whatever_the_labels_say(tmp_path):
    with pytest.raises(UsageError, match="no images here"):
        source_of(tmp_path, "file,label\n1.jpg,a\n", names=("notes.txt",))


def test_a_bare_stem_that_two_images_share_names_neither(tmp_path):
    with pytest.raises(SourceError, match="name no image"):
        source_of(tmp_path, "file,label\n1,a\n2.jpg,b\n", names=("1.jpg", "1.png", "2.jpg"))


@pytest.mark.parametrize("name", ["key", "file.x", "a.b"])
def test_a_label_cannot_take_a_name_of_the_format(tmp_path, name):
    with pytest.raises(UsageError, match="cannot have this name"):
        source_of(tmp_path, f"path,{name}\n1.jpg,1\nsub/2.jpg,2\n")


def test_a_missing_file_of_labels_is_named(tmp_path):
    folders.write(tmp_path / "photos", {"1.jpg": b""})
    with pytest.raises(StorageError, match=r"nowhere\.csv"):
        open_source(str(tmp_path / "photos"), options=Options(labels=str(tmp_path / "nowhere.csv")))


def test_labels_that_are_neither_names_nor_numbers_are_refused(tmp_path):
    with pytest.raises(UsageError, match="class names or whole numbers"):
        source_of(tmp_path, "file,label\n1.jpg,0.5\nsub/2.jpg,1.5\n")
