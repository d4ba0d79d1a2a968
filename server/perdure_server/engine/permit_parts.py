"""Everything about permits that one server has."""

from collections.abc import Awaitable, Callable
from typing import Protocol

from perdure_server.engine.catalog import Catalog
from perdure_server.engine.claimtable import ClaimTable
from perdure_server.engine.dispatch import Dispatch
from perdure_server.engine.hub import Hub
from perdure_server.engine.mailbox import Mailboxes
from perdure_server.engine.parts import Parts
from perdure_server.engine.permit_facts import PermitExplainer
from perdure_server.engine.permit_sweep import PermitSweep
from perdure_server.engine.permits import Permits
from perdure_server.engine.resources import ResourceAdmin
from perdure_server.engine.sweep import Sweep


class PermitServices(Protocol):
    """What permits ask of the engine."""

    mailboxes: Mailboxes
    catalog: Catalog
    dispatch: Dispatch
    hub: Hub
    claims: ClaimTable
    sweep: Sweep


class PermitParts:
    """Steps that wait for permits, the audit of their holders, resources as people see them, and why a step waits."""

    def __init__(self, parts: Parts, engine: PermitServices) -> None:
        self.waiting = Permits(parts, engine.mailboxes, engine.catalog, engine.dispatch, engine.hub)
        self.sweep = PermitSweep(parts, self.waiting, engine.mailboxes, engine.claims, engine.sweep.is_mine)
        self.resources = ResourceAdmin(parts, self.waiting, engine.hub)
        self.explainer = PermitExplainer(parts.store.resources, self.waiting, parts.clock)

    def loops(self) -> dict[str, Callable[[], Awaitable[None]]]:
        """What runs in the background, by name."""
        return self.sweep.loops()
