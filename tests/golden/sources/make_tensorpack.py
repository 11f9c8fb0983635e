"""Made `tensorpack-*.lmdb.gz` beside this file: LMDB files by tensorpack's own writer, in each of its serialisers.

    TENSORPACK_SERIALIZE=pickle PYTHON make_tensorpack.py JPEG

PYTHON is an interpreter of an environment with tensorpack 0.11 and lmdb, for `pyarrow` also an old pyarrow; JPEG is the
small picture beside this file. It is in all three records, whose labels are 0, 1 and 2.
"""

import gzip
import os
import sys
import tempfile

import numpy as np
from tensorpack.dataflow import DataFromList, LMDBSerializer

with open(sys.argv[1], "rb") as file:
    picture = np.frombuffer(file.read(), np.uint8)

with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "x.lmdb")
    LMDBSerializer.save(DataFromList([[picture, number] for number in range(3)], shuffle=False), path)
    with open(path, "rb") as file:
        made = gzip.compress(file.read())

name = "tensorpack-" + os.environ["TENSORPACK_SERIALIZE"] + ".lmdb.gz"
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), name), "wb") as file:
    file.write(made)
