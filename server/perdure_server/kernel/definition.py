"""Definitions: the plan as data, compiled once into what the rules look up."""

from collections.abc import Mapping
from enum import IntEnum
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from perdure_server.kernel import limits
from perdure_server.kernel.child_state import ParentClose
from perdure_server.kernel.values import Deletion, Paused, RetryPolicy, Wait

INPUT = "input"  # the reserved name under which a step needs the workflow's input


_ADAPTED = 64  # definitions with options of single workflows that are kept beside the one that all have


class StepKind(IntEnum):
    """What a step is: a worker's code, a durable wait, child workflows, or one child workflow."""

    ACTIVITY = 1
    WAIT = 2
    MAP = 3
    CHILD = 4


class Exhaustion(IntEnum):
    """What happens when a step's attempts are used up."""

    FAIL_WORKFLOW = 1
    HOLD = 2
    SKIP_DEPENDANTS = 3
    CONTINUE = 4


class Join(IntEnum):
    """When a map step is done."""

    ALL = 1
    ANY = 2
    N_OF_M = 3
    BEST_EFFORT = 4


class HookKind(IntEnum):
    """What a hook step settles."""

    ON_SUCCESS = 1
    FAILURE_FINALIZER = 2
    CANCEL_FINALIZER = 3
    PREPARE_REPLAY = 4
    COMPENSATION = 5


class Hook(Struct, frozen=True, omit_defaults=True):
    """A step that runs at a turn of the workflow. A required one is tried for ever; one that is not, by its policy, and then passed."""

    step: str
    required: bool = True


class Hooks(Struct, frozen=True, omit_defaults=True):
    """The hooks of a definition; each names a step of the list that is in no dependency."""

    on_success: Hook | None = None
    failure_finalizer: Hook | None = None
    cancel_finalizer: Hook | None = None
    prepare_replay: Hook | None = None


class Branch(Struct, frozen=True):
    """A named set of steps that a step, or a condition of its wait, may choose."""

    name: str
    steps: tuple[str, ...]


class Permit(Struct, frozen=True):
    """Units of a resource that a step holds while it runs."""

    resource: str
    units: int = 1


class ChildPlan(Struct, frozen=True, omit_defaults=True):
    """The children of a map or child step: structure.

    `source` is what the step needs that is their input: of a map step a JSON array; "" in a child step is an object of all that it needs.
    `paged`: the step's own worker brings them in pages. `required` only for N_OF_M.
    """

    workflow_type: str
    source: str = ""
    paged: bool = False
    join: Join = Join.ALL
    required: int = 0


class StepDefinition(Struct, frozen=True, omit_defaults=True):
    """One step: structure (name to child) is in the fingerprint, the rest is policy."""

    name: str
    kind: StepKind = StepKind.ACTIVITY
    depends_on: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    version: str = ""
    wait: Wait | None = None
    compensate_with: str = ""
    branches: tuple[Branch, ...] = ()
    child: ChildPlan | None = None
    queue: str = "default"
    retry: RetryPolicy = RetryPolicy()
    attempt_timeout: int = limits.ATTEMPT_TIMEOUT
    silence_timeout: int | None = None
    step_timeout: int | None = None
    step_timeout_includes_waits: bool = False
    queue_timeout: int | None = None
    on_exhausted: Exhaustion = Exhaustion.FAIL_WORKFLOW
    permits: tuple[Permit, ...] = ()
    priority: int | None = None
    description: str = ""
    contract: str = ""  # computed at registration, never taken from a client
    max_in_flight: int = limits.MAX_IN_FLIGHT  # children of a map step that are open at once
    parent_close: ParentClose = ParentClose.CANCEL

    @property
    def by_worker(self) -> bool:
        """Whether a worker runs it: an activity, or a map step whose items come in pages."""
        return self.kind is StepKind.ACTIVITY or (self.child is not None and self.child.paged)


class StepOptions(Struct, frozen=True, omit_defaults=True):
    """What was changed of one step's policy in one workflow: which fields, and a step that has their new values."""

    fields: tuple[str, ...]
    values: StepDefinition

    def apply(self, plan: StepDefinition) -> StepDefinition:
        """The step as this workflow runs it."""
        return replace(plan, **{field: getattr(self.values, field) for field in self.fields})


class _Structure(Struct, frozen=True, omit_defaults=True):
    namespace: str
    workflow_type: str
    steps: tuple[StepDefinition, ...]
    version: str = ""
    output_step: str = ""
    hooks: Hooks = Hooks()
    workflow_timeout: int | None = None
    cancel_grace: int = limits.CANCEL_GRACE
    max_lost_claims: int = limits.MAX_LOST_CLAIMS
    retention: int | None = None  # None: the namespace's
    description: str = ""
    fingerprint: str = ""
    policy_revision: int = 1
    paused: Paused | None = None  # no step of its instances is granted; kept beside the plan
    deleted: Deletion | None = None  # of no new use; kept beside the plan, for what was started by it at that moment
    registered: int | None = None  # when it was first stored (store time, ms); the store's, kept beside the plan


class Definition(_Structure, frozen=True, omit_defaults=True, dict=True):
    """A registered plan. `fingerprint`, contracts and `policy_revision` are the server's."""

    def offers_the_same(self, other: "Definition") -> bool:
        """Whether plan and policies are equal, whatever was kept beside them."""
        return self.alone() == other.alone()

    def alone(self) -> "Definition":
        """Plan and policies, without what is kept beside them."""
        return replace(self, policy_revision=1, paused=None, deleted=None, registered=None)

    @cached_property
    def by_name(self) -> dict[str, StepDefinition]:
        """The steps by name, in listing order."""
        return {step.name: step for step in self.steps}

    @cached_property
    def dependants(self) -> dict[str, tuple[str, ...]]:
        """For each step the names of those that depend on it."""
        found: dict[str, list[str]] = {step.name: [] for step in self.steps}
        for step in self.steps:
            for name in step.depends_on:
                found[name].append(step.name)
        return {name: tuple(names) for name, names in found.items()}

    @cached_property
    def hook_steps(self) -> dict[str, tuple[HookKind, bool]]:
        """The steps that are no part of the plan's order: hooks and compensations, each with its kind and whether it is required."""
        found: dict[str, tuple[HookKind, bool]] = {
            step.compensate_with: (HookKind.COMPENSATION, True) for step in self.steps if step.compensate_with
        }
        for kind, hook in (
            (HookKind.ON_SUCCESS, self.hooks.on_success),
            (HookKind.FAILURE_FINALIZER, self.hooks.failure_finalizer),
            (HookKind.CANCEL_FINALIZER, self.hooks.cancel_finalizer),
            (HookKind.PREPARE_REPLAY, self.hooks.prepare_replay),
        ):
            if hook is not None:
                found[hook.step] = (kind, hook.required)
        return found

    def is_required(self, name: str) -> bool:
        """Whether this step is a hook that is tried for ever."""
        hook = self.hook_steps.get(name)
        return hook is not None and hook[1]

    @cached_property
    def ordinary(self) -> tuple[str, ...]:
        """The steps of the plan's order, in listing order."""
        return tuple(step.name for step in self.steps if step.name not in self.hook_steps)

    @cached_property
    def roots(self) -> tuple[str, ...]:
        """The steps that depend on nothing."""
        return tuple(name for name in self.ordinary if not self.by_name[name].depends_on)

    def with_options(self, options: Mapping[str, StepOptions]) -> "Definition":
        """The definition as a workflow with these options runs it; structure and fingerprint are the same."""
        if not options:
            return self
        key = tuple(sorted(options.items()))
        found = self._adapted.get(key)
        if found is None:
            steps = tuple(options[step.name].apply(step) if step.name in options else step for step in self.steps)
            if len(self._adapted) >= _ADAPTED:
                self._adapted.clear()
            found = self._adapted[key] = replace(self, steps=steps)
        return found

    @cached_property
    def _adapted(self) -> dict[tuple[tuple[str, StepOptions], ...], "Definition"]:
        return {}

    @cached_property
    def queue_ids(self) -> dict[str, str]:
        """For each step the ready queue that its policy puts it into: namespace / queue / type / fingerprint / step."""
        return {step.name: self.queue_id(step.name, step.queue) for step in self.steps}

    def queue_id(self, name: str, queue: str) -> str:
        """The ready queue of a step of this definition on `queue`."""
        return f"{self.namespace}/{queue}/{self.workflow_type}/{self.fingerprint[:16]}/{name}"

    @cached_property
    def final_step(self) -> str:
        """The step whose output is the workflow's: the named one, else the only one without dependants, else "" for no output.

        Not the last listed: the order of listing is in no fingerprint.
        """
        last = [name for name in self.ordinary if not self.dependants[name]]
        return self.output_step or (last[0] if len(last) == 1 else "")
