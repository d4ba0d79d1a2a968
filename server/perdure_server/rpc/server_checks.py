"""What a server finds about itself, for `perdure doctor`: each finding with how bad it is and what to do about it. Worst first."""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from perdure.v1 import admin_service_pb2 as wire
from perdure_server.engine.service import Engine

OK: Final = wire.ServerCheck.SEVERITY_OK
WARNING: Final = wire.ServerCheck.SEVERITY_WARNING
ERROR: Final = wire.ServerCheck.SEVERITY_ERROR
_HEALTHY: Final = frozenset({"", "ok"})


class Finding(NamedTuple):
    """One thing that was looked at."""

    name: str
    severity: wire.ServerCheck.Severity.ValueType
    finding: str
    remedy: str = ""


def server_checks(engine: Engine, described: Mapping[str, str]) -> list[wire.ServerCheck]:
    """All findings. `described` is what the engine's parts tell about themselves."""
    reached = engine.clock.may_judge(0)
    found = [*_store(described, reached=reached), *_coordination(described), *_warnings(described)]
    found.sort(key=lambda one: -one.severity)
    return [wire.ServerCheck(name=one.name, severity=one.severity, finding=one.finding, remedy=one.remedy) for one in found]


def _store(described: Mapping[str, str], *, reached: bool) -> Iterator[Finding]:
    name = f"{described.get('store_kind', 'the store')} {described.get('store_version', '')}".strip()
    if reached:
        yield Finding("store.reachable", OK, f"{name} answers")
    else:
        yield Finding("store.reachable", ERROR, f"{name} does not answer", "look at MongoDB's log and the way to it; work waits until then")
    yield _write_concern(described)
    reads = described.get("store_reads", "")
    if reads and "linearizable" not in reads:
        remedy = "use a store that serves linearizable reads"
        yield Finding("store.read_concern", WARNING, f"reads are {reads}: right after a failover one may be old", remedy)
    elif reads:
        yield Finding("store.read_concern", OK, f"reads are {reads}")
    topology = described.get("store_topology", "")
    if "arbiters" in topology:
        remedy = "replace the arbiter by a member that keeps data"
        yield Finding("store.topology", WARNING, f"{topology}: majority writes stop when one data member is away", remedy)
    elif topology:
        yield Finding("store.topology", OK, topology)
    if described.get("store_format"):
        yield Finding("store.indexes", OK, f"made when this server started; stored format {described['store_format']}")


def _write_concern(described: Mapping[str, str]) -> Finding:
    durability = described.get("store_durability", "")
    if durability.startswith("none"):
        return Finding(
            "store.write_concern", WARNING, f"an OK means: {durability}", "use MongoDB, or `perdure dev`, for anything that matters"
        )
    if " if " in durability:
        return Finding("store.write_concern", WARNING, f"an OK means: {durability}", "see to that: this server cannot find it out")
    return Finding("store.write_concern", OK, f"an OK means: {durability}")


def _coordination(described: Mapping[str, str]) -> Iterator[Finding]:
    kind, health = described.get("coordination_kind", ""), described.get("coordination_health", "")
    name = f"{kind} {described.get('coordination_version', '')}".strip()
    if health not in _HEALTHY:
        remedy = "look at Redis' log and the way to it; work goes on from the store meanwhile, slower"
        yield Finding("coordination.reachable", WARNING, f"{name} is not in order: {health}", remedy)
    elif kind == "in-process":
        yield Finding("coordination.reachable", OK, "in-process: right for one server; several need Redis or Valkey (--redis-url)")
    else:
        yield Finding("coordination.reachable", OK, f"{name} answers")
    policy = described.get("coordination_maxmemory_policy", "")
    if policy and "coordination_warning" not in described:
        yield Finding("coordination.eviction", OK, f"maxmemory-policy {policy}, and no key is evicted")


def _warnings(described: Mapping[str, str]) -> Iterator[Finding]:
    for name, text in described.items():
        if name.endswith("_warning"):
            finding, _, remedy = text.partition(": ")
            yield Finding(
                "coordination.eviction" if name == "coordination_warning" else name.replace("_", ".", 1), WARNING, finding, remedy
            )
