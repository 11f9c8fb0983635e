"""Drop from a compiled lock what only some builds of torch need (CUDA libraries, triton): stdin to stdout.

torch itself is pinned by version and not by hash, since which build a machine gets is the machine's business. What such
a build brings along is settled in the same step, so it has no place in the lock.
"""

import re
import sys

OF_A_BUILD = re.compile(r"(nvidia|cuda|triton|pytorch-triton)\b")


def main() -> None:
    """Copy the lock, package by package."""
    keeps = True
    for line in sys.stdin:
        if not line.startswith((" ", "#")):
            keeps = OF_A_BUILD.match(line) is None
        if keeps:
            sys.stdout.write(line)


main()
