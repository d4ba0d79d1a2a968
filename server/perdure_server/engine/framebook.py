"""What one watcher was shown of progress frames: in order within a claim, each once, with every hole named."""

from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet

from msgspec import Struct

from perdure_server.kernel import limits
from perdure_server.kernel.workflow import STEP_ENDS, Step, StepState, Workflow
from perdure_server.ports.coordination import Frame, FrameBatch

Shown = dict[str, tuple[int, int]]
"""Per step: frames of lower claims are past; of this claim all up to this seq were shown."""


class Hole(Struct, frozen=True):
    """Frames of one claim, `first` to `last`, that nobody can be shown any more."""

    step: str
    claim_no: int
    first: int
    last: int

    def __str__(self) -> str:
        numbers = f"frame {self.first}" if self.first == self.last else f"frames {self.first} to {self.last}"
        return f"{numbers} of step {self.step}, claim {self.claim_no}"


class FrameBook:
    """Iterating what a method returns moves the book: after each item it says exactly what was shown."""

    def __init__(self, cursor: str = "", shown: Mapping[str, tuple[int, int]] | None = None) -> None:
        self.read_to = cursor
        self.safe = cursor  # everything up to here was shown, or is no longer wanted: what a token may say
        self.shown: Shown = dict(shown or {})
        self._waiting: list[Frame] = []
        self._over: set[str] = set()  # steps without further frames

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, batch: FrameBatch) -> None:
        """Frames that were read after `read_to`."""
        self._waiting += batch.frames
        self.read_to = batch.cursor

    def up_to_end(self, step: str, claim_no: int, last_seq: int | None) -> Iterator[Frame | Hole]:
        """The frames of a claim that ends now."""
        yield from self._show(lambda frame: frame.step == step and frame.claim_no == claim_no)
        shown_claim, seq = self.shown.get(step, (0, 0))
        if last_seq and (shown_claim < claim_no or (shown_claim == claim_no and seq < last_seq)):
            self.shown[step] = (claim_no, last_seq)
            yield Hole(step, claim_no, seq + 1 if shown_claim == claim_no else 1, last_seq)

    def current(self, workflow: Workflow) -> Iterator[Frame | Hole]:
        """The frames of the claims that are current; those of claims that have ended are too late."""

        def is_current(frame: Frame) -> bool:
            step = workflow.steps.get(frame.step)
            return step is not None and step.claim is not None and step.claim_no == frame.claim_no

        yield from self._show(is_current)
        self.keep_only(lambda frame: _is_ahead(workflow, frame))

    def replay(self, workflow: Workflow, ended_too: bool, later: AbstractSet[tuple[str, int]]) -> Iterator[Frame | Hole]:
        """All that is retained and not void, beside a snapshot; of steps that have ended only if they are wanted.

        `later`: claims of which changes are still to be told; their frames wait for those.
        """

        def is_wanted(frame: Frame) -> bool:
            step = workflow.steps.get(frame.step)
            if step is None or (frame.step, frame.claim_no) in later or frame.claim_no > step.claim_no or is_void(step, frame.claim_no):
                return False
            return ended_too or step.state not in STEP_ENDS

        yield from self._show(is_wanted)
        if ended_too and not later:
            yield from self._lost_tails(workflow)
        open_steps = {name for name, _ in later}
        ended = {name for name in self.shown if name in workflow.steps and workflow.steps[name].state in STEP_ENDS}
        self._over |= ended - open_steps
        self.keep_only(lambda frame: (frame.step, frame.claim_no) in later or _is_ahead(workflow, frame))

    def _lost_tails(self, workflow: Workflow) -> Iterator[Hole]:
        for name, step in workflow.steps.items():
            last = (step.claim_no, step.last_frame_seq or 0)
            shown = self.shown.get(name, (0, 0))
            if step.state is StepState.COMPLETED and last[1] and shown < last:
                self.shown[name] = last
                yield Hole(name, step.claim_no, shown[1] + 1 if shown[0] == step.claim_no else 1, last[1])

    def keep_only(self, wanted: Callable[[Frame], bool]) -> None:
        """Drop what waits and is not wanted; with nothing left, the place is safe."""
        self._waiting = [frame for frame in self._waiting if wanted(frame)]
        if not self._waiting:
            self.safe = self.read_to
            for step in self._over:
                self.shown.pop(step, None)
            self._over.clear()

    def void(self, step: str, claim_no: int) -> bool:
        """What was shown of this claim, and of those before it, is void. True = something was shown."""
        shown_claim, seq = self.shown.get(step, (0, 0))
        if step in self.shown and shown_claim <= claim_no:
            self.shown[step] = (claim_no + 1, 0)
        return shown_claim <= claim_no and seq > 0

    def void_claims(self, workflow: Workflow) -> list[tuple[str, int]]:
        """The claims of which something was shown and that the instance calls void."""
        return [
            (name, claim_no)
            for name, (claim_no, seq) in self.shown.items()
            if seq > 0 and name in workflow.steps and is_void(workflow.steps[name], claim_no)
        ]

    def shown_claims(self) -> list[tuple[str, int]]:
        """The claims of which something was shown."""
        return [(name, claim_no) for name, (claim_no, seq) in self.shown.items() if seq > 0]

    def end(self, step: str) -> None:
        """The step has ended: once all that waits is shown, nothing of it needs to be remembered."""
        self._over.add(step)

    def _show(self, wanted: Callable[[Frame], bool]) -> Iterator[Frame | Hole]:
        kept: list[Frame] = []
        waiting, self._waiting = self._waiting, kept
        for frame in waiting:
            if not wanted(frame):
                kept.append(frame)
                continue
            claim_no, seq = self.shown.get(frame.step, (0, 0))
            before = seq if frame.claim_no == claim_no else 0
            if frame.claim_no < claim_no or (frame.claim_no == claim_no and frame.seq <= seq):
                continue
            if frame.seq != before + 1:
                self.shown[frame.step] = (frame.claim_no, frame.seq - 1)
                yield Hole(frame.step, frame.claim_no, before + 1, frame.seq - 1)
            self.shown[frame.step] = (frame.claim_no, frame.seq)
            yield frame


def is_void(step: Step, claim_no: int) -> bool:
    """Whether this claim failed, was lost, or was cut short, as far as the step remembers."""
    if step.state is StepState.CANCELLED and claim_no == step.claim_no:
        return True
    numbers = [error.claim_no for error in step.errors]
    return claim_no in numbers or (len(numbers) == limits.ATTEMPT_ERRORS and claim_no < numbers[0])


def _is_ahead(workflow: Workflow, frame: Frame) -> bool:
    step = workflow.steps.get(frame.step)
    return step is None or frame.claim_no > step.claim_no
