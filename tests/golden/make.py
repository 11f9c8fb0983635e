"""Made the golden datasets beside this file, once per format version. It refuses to touch one that is there.

    python -m tests.golden.make

They stand for every dataset that people have on their disks: readers must go on reading them, byte by byte. A new
version of the format gets new ones beside them. `source/` holds the images that they were packed from, so that tests
can also ask whether the writer still writes the same shards.
"""

from __future__ import annotations

import hashlib
import io
import json
from pathlib import Path

import numpy as np
from PIL import Image

import penstock
from tests import folders, images

HERE = Path(__file__).parent
SOURCE = HERE / "source"

# Name → how it was packed. Shards of 9 kB, so that there are several.
DATASETS = {
    "v1-kept": {"source": "classes", "keep_bytes": True},
    "v1-tiled": {"source": "classes"},
    "v1-raw": {"source": "classes", "raw": True, "seed": 5},
    "v1-masks": {"source": "flat", "keep_bytes": True, "labels": "labels.csv", "masks": "masks", "seed": None},
}


def make_sources() -> None:
    """Draw the images."""
    photo = images.photo(48, 32, seed=1)
    palette = Image.fromarray(photo).quantize(16)
    other = {}
    for name in ("gif", "bmp", "tiff", "webp"):
        sink = io.BytesIO()
        Image.fromarray(images.photo(20, 14, seed=2)).save(sink, name, **({"lossless": True} if name == "webp" else {}))
        other[f"other/{name}.{name}"] = sink.getvalue()
    sink = io.BytesIO()
    palette.save(sink, "PNG")
    classes = {
        "cat/1.jpg": images.jpeg(photo),
        "cat/1.png": sink.getvalue(),
        "cat/grey.JPEG": images.jpeg(images.photo(33, 17, seed=3)[:, :, 1]),
        "cat/two.dots.jpg": images.jpeg(images.photo(17, 65, seed=4), subsampling=0),
        "dog/progressive.jpg": images.jpeg(images.photo(64, 48, seed=5), progressive=True),
        "dog/Übung 100%.jpg": images.jpeg(images.photo(8, 8, seed=6)),
        "dog/deep/" + "long" * 24 + "/one.jpg": images.jpeg(images.photo(1, 1, seed=7)),
        **other,
    }
    folders.write(SOURCE / "classes", classes)
    folders.write(SOURCE / "flat", {f"{i}.jpg": images.jpeg(images.photo(24, 16, seed=10 + i)) for i in range(3)})
    masks = {f"{i}.png": images.png((np.arange(24 * 16, dtype=np.uint8) // (i + 1)).reshape(16, 24)) for i in range(3)}
    folders.write(SOURCE / "masks", masks)
    (SOURCE / "labels.csv").write_text("file,label,score,note\n0.jpg,7,0.5,zero\n1.jpg,-1,1.5,\n2.jpg,3,2.5,zwölf\n")


def packed(name: str, destination: Path) -> None:
    """Pack as the golden dataset of this name was."""
    options = {key: value for key, value in DATASETS[name].items() if key != "source"}
    for option in ("labels", "masks"):
        if option in options:
            options[option] = SOURCE / str(options[option])
    penstock.pack(SOURCE / str(DATASETS[name]["source"]), destination, shard_bytes=9000, **options)


def described(path: Path) -> list[dict[str, object]]:
    """Say what a reader must find in a dataset."""
    found = []
    for sample in penstock.open(path):
        fields = {
            name: {
                "format": field.format,
                "size": [field.width, field.height],
                "bytes": len(field.data),
                "sha256": hashlib.sha256(field.data).hexdigest(),
            }
            for name, field in sample.fields.items()
        }
        found.append({"key": sample.key, "labels": sample.labels, "fields": fields})
    return found


if __name__ == "__main__":
    if not SOURCE.exists():
        make_sources()
    for name in DATASETS:
        if not (HERE / name).exists():
            packed(name, HERE / name)
            text = json.dumps(described(HERE / name), indent=1, ensure_ascii=False)
            (HERE / f"{name}.json").write_text(text + "\n", "utf-8")
