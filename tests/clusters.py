"""Packs on Ray, in a process of its own: Ray starts a dozen others. Run by test_ray.py; says what it saw as JSON.

    python -m tests.clusters alone SOURCE FOLDER     a Ray that penstock starts, and what it leaves and listens to
    python -m tests.clusters given SOURCE FOLDER     a Ray that is there already: one pack after another
    python -m tests.clusters nodes SOURCE FOLDER     two nodes; one is killed when it holds what nobody else has

Everything keeps to the loopback interface.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

import penstock
from penstock.cli import main as command
from penstock.errors import PenstockError
from penstock.ingest.kinds import open_source
from penstock.ingest.recipe import Recipe
from penstock.ray import Cluster, _OnCluster, _quiet_and_local, started_here
from penstock.storage.journal import Begun
from penstock.storage.where import place_at
from penstock.work import Work
from tests.folders import content

if TYPE_CHECKING:
    from collections.abc import Callable

SLICE_BYTES = 250_000


def children() -> set[int]:
    """Processes that this one has started, and those that they have."""
    parents = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                parents[int(name)] = int(Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()[1])
            except OSError:  # gone meanwhile
                continue
    found, grows = {os.getpid()}, True
    while grows:
        more = {child for child, parent in parents.items() if parent in found} - found
        found, grows = found | more, bool(more)
    return found


def listening() -> list[str]:
    """Addresses that this process and its children listen at, in the kernel's hexadecimal notation."""
    sockets = set()
    for pid in children():
        try:
            for handle in os.listdir(f"/proc/{pid}/fd"):
                sockets.add(os.readlink(f"/proc/{pid}/fd/{handle}"))
        except OSError:
            continue
    rows = [line.split() for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]]
    return sorted(row[1].rpartition(":")[0] for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in sockets)


def outcome(call: Callable[[], Any]) -> str:
    """What a call says: its report's outcomes, or its error."""
    try:
        report = call()
    except PenstockError as error:
        return f"{type(error).__name__}: {error}"
    return json.dumps([report.samples, report.added, report.outcomes, [str(item) for item in report.skipped]])


def alone(source: Path, folder: Path) -> dict[str, Any]:
    """Let the command start Ray; it reports on what is stderr here."""
    heard: set[str] = set()
    opened = _OnCluster.shard

    def shard(self: _OnCluster, name: str, start: int) -> Any:
        heard.update(listening())
        return opened(self, name, start)

    _OnCluster.shard = shard  # type: ignore[method-assign]
    options = ["--shard-size", "400000B", "--engine", "ray", "--workers", "2", "--json"]
    command(["pack", str(source), str(folder / "ray.pen"), *options], standalone_mode=False)
    return {"listening": sorted(heard), "children": len(children()) - 1}


def given(source: Path, folder: Path) -> dict[str, Any]:
    """Pack what is in folders beside the source, with threads and on Ray."""
    found = {}
    engines = {"threads": None, "ray": Cluster(slice_bytes=20_000)}
    with started_here(2):
        for name, engine in engines.items():

            def pack(what: str, into: str, name=name, engine=engine, **options: Any) -> str:
                destination = folder / name / into
                said = outcome(lambda: penstock.pack(source / what, destination, engine=engine, **options))
                return said.replace(str(destination), into)

            found[name] = [
                pack("broken", "broken.pen"),
                pack("broken", "skipping.pen", on_error="skip", shard_bytes=9000),
                pack("masks", "masks.pen", masks=source / "drawn", on_error="skip", shard_bytes=9000),
                pack("masks", "masks.pen", masks=source / "drawn", on_error="skip", extend=True),
                pack("more", "masks.pen", masks=source / "drawn", on_error="skip", extend=True),
                pack("clips/train.csv", "clips.pen", seed=None),
            ]
        impatient = Cluster(patience_s=1e-6)
        found["impatient"] = outcome(lambda: penstock.pack(source / "more", folder / "i.pen", engine=impatient))
        begun = Begun(place_at(str(folder)), b"")
        unseen = Work(begun, open_source(str(source / "more")), Recipe(), None, (str(source / "nowhere"),))
        with engines["ray"].begin(unseen) as run:
            found["unseen"] = outcome(lambda: list(run.items([0, 1], 0)))
        (folder / "elsewhere").mkdir()
        os.chdir(folder / "elsewhere")
        os.symlink(source / "more", "relative")
        found["relative"] = outcome(lambda: penstock.pack("relative", "r.pen", engine=engines["ray"], workers=1))
    return found


def nodes(source: Path, folder: Path) -> dict[str, Any]:
    """Kill a node while it is needed."""
    with _quiet_and_local():
        import ray
        from ray.cluster_utils import Cluster as Nodes
        from ray.experimental import get_object_locations

        cluster = Nodes(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
        victim = cluster.add_node(num_cpus=1)
        cluster.wait_for_nodes()
        ray.init(address=cluster.address, log_to_driver=False)
    runs: list[_OnCluster] = []
    started = _OnCluster.__init__

    def noted(self: _OnCluster, *arguments: Any) -> None:
        started(self, *arguments)
        runs.append(self)

    _OnCluster.__init__ = noted  # type: ignore[method-assign]
    seen: dict[str, Any] = {}

    def kill(state: penstock.pack.PackProgress) -> None:
        if seen or state.items < 24:
            return
        held = [part.made for part in runs[0]._unwritten]
        ray.wait(held, num_returns=len(held), fetch_local=False)
        where = get_object_locations(held).values()
        seen["lost"] = sum(place["node_ids"] == [victim.node_id] for place in where)
        cluster.remove_node(victim, allow_graceful=False)

    report = penstock.pack(
        source, folder / "ray.pen", shard_bytes=800_000, engine=Cluster(slice_bytes=SLICE_BYTES), progress=kill
    )
    seen |= {"samples": report.samples, "shards": report.shards, "nodes": sum(node["Alive"] for node in ray.nodes())}
    ray.shutdown()
    cluster.shutdown()
    return seen


def main(mode: str, source: str, folder: str) -> None:
    """Do one of the three."""
    with redirect_stdout(sys.stderr):  # Ray tells of lost nodes on stdout
        result = {"alone": alone, "given": given, "nodes": nodes}[mode](Path(source), Path(folder))
    sys.stdout.write(json.dumps(result | {"content": sorted(content(Path(folder)))}) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
