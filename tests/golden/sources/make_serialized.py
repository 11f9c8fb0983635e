"""Made `pyarrow-*.json` beside this file: values as old Arrow's `pyarrow.serialize` wrote them, in base64.

    PYTHON make_serialized.py JPEG

PYTHON is an interpreter of an environment with nothing but one old pyarrow; JPEG is a small picture, here a grey one of
16x12. The function left Arrow with version 14, so these files cannot be made in penstock's own environment.
"""

import base64
import json
import os
import sys
import warnings

import numpy as np
import pyarrow as pa

warnings.simplefilter("ignore")
with open(sys.argv[1], "rb") as file:
    JPEG = file.read()

VALUES = {
    "record": (JPEG, 7),
    "array record": [np.frombuffer(JPEG, np.uint8), 7],
    "keys": [b"0", b"1", b"10"],
    "length": 3,
    "dict": {"image": JPEG, "label": -2, "score": 0.5, "caption": "caf\u00e9"},
    "scalars": (None, True, False, 2**40, -1.25, "text", b"", [1, [2, 3]], (), {}),
    "array": np.arange(6, dtype=np.float32).reshape(2, 3),
    "object": 2**70,
}

with open(os.path.join(os.path.dirname(__file__), "pyarrow-" + pa.__version__ + ".json"), "w") as file:
    made = {name: pa.serialize(value).to_buffer().to_pybytes() for name, value in VALUES.items()}
    json.dump({name: base64.b64encode(data).decode() for name, data in made.items()}, file, indent=1)
    file.write("\n")
