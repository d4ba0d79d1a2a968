"""Policies that change under running workflows: of a whole definition, and of one step of one workflow."""

from typing import TYPE_CHECKING, ClassVar, cast

from msgspec.structs import replace

from perdure_server.engine.people import Conditions
from perdure_server.engine.values import Ref
from perdure_server.kernel import limits
from perdure_server.kernel.definition import Definition, StepDefinition, StepOptions
from perdure_server.kernel.rejection import Rejection
from perdure_server.kernel.workflow import Workflow
from perdure_server.store.memory_records import MemoryDefinitions
from tests.engine.virtual_loop import pause
from tests.simulation.callers import Caller
from tests.simulation.ingredients import Ingredient

if TYPE_CHECKING:
    from tests.simulation.world import Simulation

TIMEOUTS = (500, 3_000, limits.ATTEMPT_TIMEOUT)


class Policies(Ingredient):
    """Whoever tunes them. Only what no invariant goes by is changed: times of attempts, and priorities."""

    name: ClassVar[str] = "policies"
    share = 0.2

    def __init__(self, simulation: "Simulation") -> None:
        super().__init__(simulation)
        self._caller = Caller(simulation, "tuner")

    async def live(self, until: float) -> None:
        """One of both, now and then."""
        while self.simulation.loop.time() < until:
            await pause(0.5 + self.source.random() * 2.0)
            open_ = [found for found in self.simulation.oracle.workflows() if not found.is_ended and not found.archived]
            if self.source.random() < 0.5:
                await self._change_definition()
            elif open_:
                await self._change_step(self.source.choice(open_))

    async def _change_definition(self) -> None:
        stored = cast("MemoryDefinitions", self.simulation.store.definitions)._stored
        known = self.source.choice(list(stored.values()))
        changed = replace(known, steps=tuple(self._tuned(step) for step in known.steps))
        after = await self._caller.call(lambda engine: engine.change_policies(known, changed))
        self.count("policies changed", after is not None)

    def _tuned(self, step: StepDefinition) -> StepDefinition:
        if not step.by_worker or self.source.random() < 0.5:
            return step
        return replace(step, attempt_timeout=self.source.choice(TIMEOUTS), priority=self.source.randrange(10), silence_timeout=None)

    async def _change_step(self, workflow: Workflow) -> None:
        definition: Definition = self.simulation.definition_of(workflow)
        names = [plan.name for plan in definition.steps if plan.by_worker]
        if not names:
            return
        name, key = self.source.choice(names), workflow.key
        values = replace(definition.by_name[name], attempt_timeout=self.source.choice(TIMEOUTS), priority=self.source.randrange(10))
        options = StepOptions(("attempt_timeout", "priority"), values)
        mark = self.simulation.oracle.mark(key.workflow_id)
        conditions = Conditions(self._caller.mint())
        try:
            await self._caller.call(lambda engine: engine.people.update_options(Ref(key), name, options, conditions))
        except Rejection as error:
            self.count(f"step options refused: {error.reason.name}")
            return
        self.count("step options changed")
        self.simulation.promises.check(
            "step options",
            key.workflow_id,
            mark,
            lambda found: (
                found is not None and (name in found.step_options or self._went_with_its_step(found, name, conditions.request_id))
            ),
        )

    def _went_with_its_step(self, found: Workflow, name: str, request_id: str) -> bool:
        # Commands that wait for one document go into one write: after this one, a migration to a definition without the step.
        was_stored = any(action.endswith(f":{request_id}") for action in found.actions)
        return was_stored and name not in self.simulation.definition_of(found).by_name
