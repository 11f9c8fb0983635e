"""Every instruction set gives the same bytes."""

import os
import subprocess
import sys

from tests.native.survey import survey

from penstock import _native


def test_the_scalar_path_gives_the_same_bytes():
    environment = {**os.environ, "PENSTOCK_SIMD": "scalar"}
    command = [sys.executable, "-m", "tests.native.survey"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    name, digest = done.stdout.split()
    assert name == "scalar"
    assert digest == survey()


def test_the_instruction_set_has_a_name():
    assert _native.SIMD in ("avx2", "scalar")
