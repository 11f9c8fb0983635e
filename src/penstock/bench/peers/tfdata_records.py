"""tf.data: TFRecords of the original JPEG bytes, shuffled in a buffer, only the crop decoded.

TensorFlow's own random box (`sample_distorted_bounding_box`) draws from another distribution than RandomResizedCrop, so
the box is drawn here as the others draw it, in TensorFlow; `decode_and_crop_jpeg` then decodes what it needs.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.bench.peers.torch_images import made

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.bench.case import Case

LABEL = "tf.data"
SETTINGS = "16 TFRecord files, interleaved, buffer of 10,000; decode_and_crop_jpeg, antialiased bilinear; uint8 HWC"
DISTRIBUTIONS = ("tensorflow-cpu", "numpy")
MODULES = ("tensorflow",)
FILES = 16
BUFFER = 10_000
TRIES = 10


def prepare(case: Case) -> tuple[Path | None, bool]:
    """Write the records."""

    def write(part: Path) -> None:
        import tensorflow as tf

        files = case.files()
        part.mkdir()
        for shard in range(min(FILES, len(files))):
            with tf.io.TFRecordWriter(str(part / f"{shard:02d}.tfrecord")) as out:
                for number in range(shard, len(files), FILES):
                    data = tf.train.Feature(bytes_list=tf.train.BytesList(value=[Path(files[number][0]).read_bytes()]))
                    sample = tf.train.Feature(int64_list=tf.train.Int64List(value=[number]))
                    features = tf.train.Features(feature={"image": data, "id": sample})
                    out.write(tf.train.Example(features=features).SerializeToString())

    return made(case.form("tfrecords"), write)


def epochs(case: Case) -> Iterator[Any]:
    """Deliver epochs."""
    import tensorflow as tf

    tf.random.set_seed(case.seed)
    tf.config.threading.set_inter_op_parallelism_threads(case.workers)
    wanted = {"image": tf.io.FixedLenFeature([], tf.string), "id": tf.io.FixedLenFeature([], tf.int64)}

    def box(shape: Any) -> Any:
        """Draw RandomResizedCrop's box: ten tries at once, the first that fits."""
        height, width = tf.cast(shape[0], tf.float32), tf.cast(shape[1], tf.float32)
        area = height * width * tf.random.uniform([TRIES], 0.08, 1.0)
        aspect = tf.exp(tf.random.uniform([TRIES], math.log(3 / 4), math.log(4 / 3)))
        w, h = tf.round(tf.sqrt(area * aspect)), tf.round(tf.sqrt(area / aspect))
        fits = (w <= width) & (h <= height) & (w > 0) & (h > 0)
        first, side = tf.argmax(tf.cast(fits, tf.int32)), tf.minimum(width, height)
        w, h = tf.where(tf.reduce_any(fits), w[first], side), tf.where(tf.reduce_any(fits), h[first], side)
        drawn = tf.random.uniform([2])
        across, down = tf.floor(drawn[0] * (width - w + 1)), tf.floor(drawn[1] * (height - h + 1))
        middle = tf.floor(tf.stack([(height - side) / 2, (width - side) / 2]))
        corner = tf.where(tf.reduce_any(fits), tf.stack([down, across]), middle)
        return tf.cast(tf.concat([corner, tf.stack([h, w])], 0), tf.int32)

    def decode(record: Any) -> Any:
        found = tf.io.parse_single_example(record, wanted)
        window = box(tf.io.extract_jpeg_shape(found["image"]))
        image = tf.io.decode_and_crop_jpeg(found["image"], window, channels=3)
        image = tf.image.resize(image, [case.size, case.size], antialias=True)
        image = tf.image.random_flip_left_right(image)
        return tf.cast(tf.round(tf.clip_by_value(image, 0, 255)), tf.uint8), found["id"]

    files = sorted(str(path) for path in case.form("tfrecords").iterdir())
    dataset = tf.data.Dataset.from_tensor_slices(files).shuffle(len(files), reshuffle_each_iteration=True)
    dataset = dataset.interleave(tf.data.TFRecordDataset, cycle_length=len(files), num_parallel_calls=case.workers)
    dataset = dataset.shuffle(BUFFER).map(decode, num_parallel_calls=case.workers, deterministic=False)
    dataset = dataset.batch(case.batch_size).prefetch(2)
    options = tf.data.Options()
    options.threading.private_threadpool_size = case.workers
    while True:
        yield dataset.with_options(options).as_numpy_iterator()
