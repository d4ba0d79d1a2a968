"""The store on MongoDB: builds the adapters, opens and closes them."""

import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

from perdure_server.ports.audit import AuditTrail
from perdure_server.ports.batches import Batches
from perdure_server.ports.errors import StoreError
from perdure_server.ports.resources import Resources
from perdure_server.ports.schedules import Namespaces, Schedules
from perdure_server.ports.store import Definitions, Payloads, Sessions, Workflows
from perdure_server.ports.telemetry import SILENCE, Meter
from perdure_server.store.audit import MongoAudit
from perdure_server.store.batches import MongoBatches
from perdure_server.store.committer import Road
from perdure_server.store.definitions import MongoDefinitions
from perdure_server.store.driver import Connection, Driver
from perdure_server.store.payloads import MongoPayloads
from perdure_server.store.probe import SECANTUS, Abilities, probe
from perdure_server.store.resources import MongoResources
from perdure_server.store.schedules import MongoNamespaces, MongoSchedules
from perdure_server.store.schema import ensure_indexes, migrate, release_quarantined
from perdure_server.store.sessions import MongoSessions
from perdure_server.store.transactions import Transactions
from perdure_server.store.workflows import MongoWorkflows

_EPOCH: Final = datetime.fromtimestamp(0, UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)


class MongoStore:
    """The port's Store on MongoDB 6 to 8, or on what speaks its protocol. The parts exist after `open`.

    `road` forces one of the roads of the group commit instead of the one that the probe finds.
    """

    workflows: Workflows
    payloads: Payloads
    sessions: Sessions
    definitions: Definitions
    resources: Resources
    audit: AuditTrail
    batches: Batches
    schedules: Schedules
    namespaces: Namespaces

    def __init__(self, url: str, database: str, driver: Driver = "motor", road: Road | None = None, *, meter: Meter = SILENCE) -> None:
        """Raises StoreError when the URL cannot be used."""
        self.connection = Connection(url, database, driver, meter)
        self._forced_road = road
        self._abilities: Abilities | None = None
        self._format = 0
        self._mongo_workflows: MongoWorkflows | None = None
        self._transactions: Transactions | None = None

    async def open(self) -> None:
        """As the port says; may be called again after it failed."""
        abilities = await probe(self.connection, self._forced_road)
        await ensure_indexes(self.connection)
        self._format = await migrate(self.connection)
        await release_quarantined(self.connection)
        self._abilities = abilities
        if abilities.road is Road.TRANSACTION:
            self._transactions = Transactions(self.connection)
            await self._transactions.open()
        self._mongo_workflows = MongoWorkflows(self.connection, abilities.road, abilities.linearizable, self._transactions)
        self.workflows = self._mongo_workflows
        self.payloads = MongoPayloads(self.connection)
        self.sessions = MongoSessions(self.connection, abilities.linearizable)
        self.definitions = MongoDefinitions(self.connection, abilities.linearizable)
        self.resources = MongoResources(self.connection, abilities.linearizable)
        self.audit = MongoAudit(self.connection, abilities.linearizable)
        self.batches = MongoBatches(self.connection, abilities.linearizable)
        self.schedules = MongoSchedules(self.connection, abilities.linearizable)
        self.namespaces = MongoNamespaces(self.connection, abilities.linearizable)

    async def close(self) -> None:
        """As the port says."""
        if self._mongo_workflows is not None:
            await self._mongo_workflows.close()
        if self._transactions is not None:
            await self._transactions.close()
        await self.connection.close()

    async def time(self) -> tuple[int, int]:
        """As the port says."""
        begun = time.monotonic()
        hello = await self.connection.admin_command({"hello": 1})
        round_trip = time.monotonic() - begun
        return (hello["localTime"].replace(tzinfo=UTC) - _EPOCH) // _MILLISECOND, round(round_trip * 1_000)

    def counters(self) -> Mapping[str, int]:
        """As the port says."""
        if self._mongo_workflows is None:
            return {}
        committer, loader = self._mongo_workflows.committer, self._mongo_workflows.loader
        return {
            "commit_batches": committer.batches,
            "commit_writes": committer.writes,
            "commit_reads_to_settle": committer.reads_to_settle,
            "commit_transactions_undone": committer.undone,
            "load_queries": loader.queries,
            "loads": loader.loads,
            "quarantined": loader.quarantined,
        }

    def description(self) -> Mapping[str, str]:
        """As the port says."""
        if self._abilities is None:
            raise StoreError("the store is not open")
        abilities = self._abilities
        return {
            "kind": abilities.kind,
            "version": abilities.version,
            "topology": abilities.topology + (" with arbiters" if abilities.arbiters else ""),
            "durability": "majority, journal" + (" if it runs with --sync-on-commit" if abilities.kind == SECANTUS else ""),
            "reads": f"local from the primary; {abilities.linearizable} where an answer has no write of its own",
            "group_commit": abilities.road.value,
            "driver": self.connection.driver,
            "format": str(self._format),
        }
