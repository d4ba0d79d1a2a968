"""Which queues a worker's pools draw from: the fingerprints in which the steps have the contracts that it was built for."""

from collections.abc import Sequence

from perdure_server.engine.catalog import Catalog
from perdure_server.engine.values import PoolServed, StepServed
from perdure_server.kernel.definition import Definition
from perdure_server.kernel.rejection import Reason
from perdure_server.ports.store import Subscription

SCRIPTS_POOL = "scripts"


class Subscriptions:
    """Matches contracts with registered definitions."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self.scripted: set[tuple[str, str]] = set()  # (namespace, type) whose steps go to scripts alone; of a test server

    async def serve(self, namespace: str, pools: Sequence[Subscription]) -> list[tuple[PoolServed, frozenset[str]]]:
        """Per pool its status and its queue ids. An empty contract takes any version; no steps mean every activity of the type.

        Raises StoreUnavailable.
        """
        return [await self._serve(namespace, pool) for pool in pools]

    async def _serve(self, namespace: str, pool: Subscription) -> tuple[PoolServed, frozenset[str]]:
        versions = await self._catalog.versions(namespace, pool.workflow_type)
        wanted = pool.step_contracts or {plan.name: "" for version in versions for plan in version.steps if plan.by_worker}
        paused = {version.fingerprint for version in versions if version.paused is not None}  # accepted, but it feeds nobody now
        queues: set[str] = set()
        steps: list[StepServed] = []
        for name, contract in wanted.items():
            accepted = [version.fingerprint for version in versions if matches(version, name, contract)]
            queues |= {
                f"{namespace}/{pool.queue}/{pool.workflow_type}/{fingerprint[:16]}/{name}"
                for fingerprint in accepted
                if fingerprint not in paused
            }
            steps.append(StepServed(name, contract, tuple(accepted), None if accepted else _problem(versions, name)))
        if (namespace, pool.workflow_type) in self.scripted and pool.pool != SCRIPTS_POOL:
            queues.clear()
        return PoolServed(pool.pool, tuple(steps)), frozenset(queues)


def matches(version: Definition, name: str, contract: str) -> bool:
    """Whether a worker built for this contract ("" = any) of a step may run it in this version."""
    plan = version.by_name.get(name)
    return plan is not None and plan.by_worker and (not contract or plan.contract == contract)


def _problem(versions: Sequence[Definition], name: str) -> Reason:
    known = any(name in version.by_name for version in versions)
    return Reason.DEFINITION_MISMATCH if known else Reason.DEFINITION_NOT_FOUND
