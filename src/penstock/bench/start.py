"""Start a child: bound to its CPUs before anything is imported, with penstock or in an environment that has none.

Libraries size their thread pools, and start threads, when they are imported; what is bound only then keeps threads that
run elsewhere. So this file is run by its path, binds itself, and imports after that.

    python src/penstock/bench/start.py '{"task": …}' penstock
    .peers/torchvision/bin/python src/penstock/bench/start.py '{"task": …}' alone

A peer's environment holds the peer's library and what that wants, pinned. To install penstock there too would bring
its own dependencies, and might not even be possible. So "alone" puts the package `penstock` together from its folder,
without running its `__init__`; what the child needs of it is plain Python and NumPy. This happens on import, too:
worker processes that are spawned import the main module, to find what was pickled.
"""

import json
import os
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

here = Path(__file__).resolve().parent
sys.path[:] = [entry for entry in sys.path if entry != str(here)]  # or `import window` would find the one here
if sys.argv[2:] == ["alone"] and "penstock" not in sys.modules:
    package = ModuleType("penstock")
    package.__path__ = [str(here.parent)]
    sys.modules["penstock"] = package


def bind(request: dict[str, object]) -> None:
    """Keep to the first so many of the CPUs that there are; where there are not so many, the child says so."""
    if "cpus" in request and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: int(str(request["cpus"]))])


if __name__ == "__main__":
    bind(json.loads(sys.argv[1]))
    import_module("penstock.bench.child").main()
