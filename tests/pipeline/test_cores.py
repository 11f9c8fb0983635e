"""Counting cores."""

import subprocess
import sys


def test_only_the_cores_that_the_process_may_use_are_counted():
    code = (
        "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n"
        "from penstock.pipeline.cores import allowed_cores; print(allowed_cores())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "1\n"
