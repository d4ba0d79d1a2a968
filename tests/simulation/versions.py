"""Two definitions of one type side by side: registered while workflows run, paused, resumed, and workflows moved between them."""

from typing import TYPE_CHECKING, ClassVar, cast

from perdure_server.engine.catalog import DefinitionName
from perdure_server.engine.values import Ref
from perdure_server.kernel.definition import Definition
from perdure_server.kernel.migration import Migration
from perdure_server.kernel.rejection import FieldViolation, Rejection
from perdure_server.kernel.values import Paused
from perdure_server.kernel.workflow import CLAIMED, Workflow
from perdure_server.store.memory_records import MemoryDefinitions
from tests.engine.virtual_loop import pause
from tests.kernel.harness import activity, plan
from tests.simulation.callers import Caller
from tests.simulation.ingredients import Ingredient
from tests.simulation.plans import random_plan

if TYPE_CHECKING:
    from tests.simulation.world import Simulation

KNOWN_AFTER = 10_000  # ms after which every server knows of a pause


class Versions(Ingredient):
    """The team that owns the definitions."""

    name: ClassVar[str] = "versions"
    share = 0.2

    def __init__(self, simulation: "Simulation") -> None:
        super().__init__(simulation)
        self._caller = Caller(simulation, "team")
        self._paused: dict[str, int] = {}  # by fingerprint, since when every server must know it
        self._made = 0
        simulation.oracle.witnesses.append(self._workflow_changed)

    async def live(self, until: float) -> None:
        """This and that."""
        while self.simulation.loop.time() < until:
            await pause(0.5 + self.source.random() * 3.0)
            chance = self.source.random()
            if chance < 0.25:
                await self._register()
            elif chance < 0.5:
                await self._pause()
            else:
                await self._migrate()

    async def heal(self) -> None:
        """All go on."""
        self._paused.clear()
        for workflow_type in ("note", "child"):
            await self._caller.call(lambda engine: engine.pause_definitions(DefinitionName("default", workflow_type), None))  # noqa: B023 -- awaited in its round

    def _known(self) -> list[Definition]:
        stored = cast("MemoryDefinitions", self.simulation.store.definitions)._stored
        return [definition for key, definition in stored.items() if key[:2] == ("default", "note")]

    async def _register(self) -> None:
        old = self.source.choice(self._known())
        grown = [step for step in old.steps if step.name != "more"]
        last = [name for name in old.ordinary if name != "more"][-1]
        steps = [*grown, activity(f"more: {last}", needs=())]
        self._made += 1
        new = random_plan(self.source, f"team{self._made}")
        if self.source.random() < 0.7:
            fields = {"hooks": old.hooks, "cancel_grace": old.cancel_grace, "max_lost_claims": old.max_lost_claims}
            new = plan(*steps, workflow_timeout=old.workflow_timeout, **fields)
        try:
            await self._caller.register(new)
            self.count("definitions registered meanwhile")
        except FieldViolation:
            self.count("definitions refused")

    async def _pause(self) -> None:
        chosen = self.source.choice(self._known())
        name = DefinitionName("default", "note", chosen.fingerprint)
        if chosen.paused is None:
            await self._caller.call(lambda engine: engine.pause_definitions(name, Paused(0, "team", "look")))
            self._paused[chosen.fingerprint] = self.simulation.now() + KNOWN_AFTER
            self.count("definitions paused")
        else:
            self._paused.pop(chosen.fingerprint, None)
            await self._caller.call(lambda engine: engine.pause_definitions(name, None))

    async def _migrate(self) -> None:
        open_ = [found for found in self.simulation.oracle.workflows() if found.key.workflow_type == "note" and not found.is_ended]
        open_ = [found for found in open_ if found.key.namespace == "default"]
        if not open_:
            return
        workflow = self.source.choice(open_)
        target = self.source.choice(self._known())
        source = DefinitionName("default", "note", workflow.fingerprint)
        try:
            repeat, _ = await self._caller.call(
                lambda engine: engine.operations.migrations.migrate(Ref(workflow.key), source, Migration(target, {}, frozenset()))
            )
        except (Rejection, FieldViolation) as error:
            self.count(f"migrations refused: {error.reason.name}")
        else:
            self.count("migrations", not repeat)

    def _workflow_changed(self, before: Workflow | None, after: Workflow) -> None:
        since = self._paused.get(after.fingerprint)
        if since is None or before is None or before.run_id != after.run_id or after.update_time < since:
            return
        for name, step in after.steps.items():
            old = before.steps.get(name)
            had = old.claim.nonce if old is not None and old.claim is not None else ""
            if step.state in CLAIMED and step.claim is not None and step.claim.nonce != had:
                self.simulation.oracle.breach(f"{after.key.business_key}/{name} was granted in a pause of its definition")
