"""What a live watch shows: the steps as a graph with their progress, and the last events, cut to the screen."""

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final, cast

from rich.text import Text

from perdure.cli.graph import Place, places_of
from perdure.cli.output import COLOURS, about, coloured, shortened
from perdure.events import Change, End, Event, Frame, FramesReset, Snapshot
from perdure.v1 import workflow_pb2
from perdure.view import StepState, StepView, Workflow

LOG_LINES: Final = 12
BAR: Final = 12
ENDED: Final = frozenset({StepState.COMPLETED, StepState.FAILED, StepState.CANCELLED, StepState.SKIPPED, StepState.COMPENSATED})
INTEREST: Final = (
    *(StepState.HELD, StepState.FAILED, StepState.RUNNING, StepState.CANCELLING, StepState.BACKOFF, StepState.READY, StepState.WAITING),
)
"""Which steps are shown first where not all fit."""
_FIXED: Final = 3  # lines besides steps and events
_STATE: Final = 12
_FULL, _EMPTY = "█", "░"


@dataclass(frozen=True)
class Progress:
    """How far an activity says that it is."""

    done: float | None
    total: float | None
    text: str


class Board:
    """Takes events, and draws what is known as lines."""

    def __init__(self, name: str) -> None:
        self.workflow: Workflow | None = None
        self._name = name
        self._steps: dict[str, StepView] = {}
        self._needs: Mapping[str, Sequence[str]] = {}
        self._places: list[Place] = []
        self._frames: dict[str, tuple[int, Progress]] = {}
        self._log: deque[str] = deque(maxlen=LOG_LINES)

    def take(self, event: Event) -> None:
        """Notes one event."""
        match event:
            case Snapshot():
                self.show(event.workflow)
                self._frames.clear()
            case Frame() if event.kind != "LOG":
                self._note_frame(event)
                return
            case FramesReset():
                claim_no, _ = self._frames.get(event.step, (0, None))
                if claim_no <= event.claim_no:
                    self._frames.pop(event.step, None)
            case Change():
                self._note_change(event)
            case End() if self.workflow is not None:
                self.workflow = replace(self.workflow, state=event.state, phase="", end_time=event.time)
            case _:
                pass
        self._log.append(str(event))

    def show(self, workflow: Workflow) -> None:
        """The workflow as it was read."""
        self.workflow = workflow
        self._steps = dict(workflow.steps)
        self._arrange()

    def arrange(self, needs: Mapping[str, Sequence[str]]) -> None:
        """What each step depends on."""
        self._needs = needs
        self._arrange()

    def _arrange(self) -> None:
        known = {name: [need for need in self._needs.get(name, ()) if need in self._steps] for name in self._steps}
        if {place.name for place in self._places} != known.keys() or self._needs:
            self._places = places_of(known)

    def _note_frame(self, frame: Frame) -> None:
        claim_no, before = frame.claim_no, self._frames.get(frame.step)
        if frame.kind == "TEXT":
            said = before[1].text if before is not None and before[0] == claim_no else ""
            self._frames[frame.step] = claim_no, Progress(None, None, (said + frame.text)[-400:])
            return
        told = frame.value
        value = cast("dict[str, object]", told) if isinstance(told, dict) else {}
        self._frames[frame.step] = claim_no, Progress(_number(value.get("done")), _number(value.get("total")), frame.text)

    def _note_change(self, change: Change) -> None:
        if self.workflow is not None and change.workflow_state is not None:
            self.workflow = replace(self.workflow, state=change.workflow_state)
        step = self._steps.get(change.step)
        if step is None:
            return
        message = workflow_pb2.StepView()
        message.CopyFrom(step.message)
        if change.message.HasField("map"):
            message.map.CopyFrom(change.message.map)
        state = change.step_state or step.state
        if state is StepState.RUNNING and step.state is not StepState.RUNNING and change.time is not None:
            message.phase_since_time.FromDatetime(change.time)
        self._steps[change.step] = replace(
            step,
            state=state,
            phase="",
            phase_reason="",
            attempt=change.attempt or step.attempt,
            claim_no=change.claim_no or step.claim_no,
            worker_id=change.worker_id,
            failure=change.failure,
            waits_for=change.signals if state is StepState.WAITING else (),
            next_time=change.next_time,
            message=message,
        )

    def lines(self, width: int, height: int) -> list[Text]:
        """The picture, at most so large."""
        if self.workflow is None:
            return [Text(f"{self._name}: connecting", style=COLOURS["BLOCKED"])]
        log = list(self._log)[-max(1, min(LOG_LINES, height // 3)) :]
        rows = self._rows(max(1, height - _FIXED - len(log)), width)
        drawn = [self._head(self.workflow), *rows, Text(""), *(Text(shortened(line, 500), style=COLOURS["BLOCKED"]) for line in log)]
        for line in drawn:
            line.truncate(width, overflow="ellipsis")
        return drawn[:height]

    def _head(self, workflow: Workflow) -> Text:
        ended = sum(step.state in ENDED for step in self._steps.values())
        head = Text.assemble((self._name, "bold"), " ", coloured(workflow.state))
        if workflow.phase and not workflow.state.is_ended:
            head.append(f" {workflow.phase}")
        head.append(f"  {ended}/{len(self._steps)} steps {bar(ended, len(self._steps), BAR)}")
        head.append(f"  round {workflow.round}, {_took(workflow.start_time, workflow.end_time)}")
        return head

    def _rows(self, room: int, width: int) -> list[Text]:
        shown = [place for place in self._places if place.name in self._steps]
        hidden: list[StepView] = []
        if len(shown) > room:
            ranks = {state: rank for rank, state in enumerate(INTEREST)}
            chosen = sorted(shown, key=lambda place: ranks.get(self._steps[place.name].state, len(INTEREST)))[: max(0, room - 1)]
            names = {place.name for place in chosen}
            hidden = [self._steps[place.name] for place in shown if place.name not in names]
            shown = [replace(place, guide="") for place in shown if place.name in names]
        wide = min(max((len(place.guide) + len(place.name) for place in shown), default=0), max(8, width * 2 // 5))
        rows = [self._row(place, wide) for place in shown]
        if hidden:
            counts = Counter(step.state for step in hidden)
            told = ", ".join(f"{count} {state}" for state, count in counts.most_common())
            rows.append(Text(f"... and {len(hidden)} more: {told}", style=COLOURS["BLOCKED"]))
        return rows

    def _row(self, place: Place, wide: int) -> Text:
        step = self._steps[place.name]
        name = Text.assemble((place.guide, COLOURS["BLOCKED"]), (place.name, "bold" if step.state is StepState.RUNNING else ""))
        name.truncate(wide, overflow="ellipsis", pad=True)
        state = coloured(step.state)
        state.truncate(_STATE, pad=True)
        row = Text.assemble(name, "  ", state)
        row.append(self._detail(step, place))
        return row

    def _detail(self, step: StepView, place: Place) -> str:
        parts: list[str] = []
        claim_no, progress = self._frames.get(step.name, (0, None))
        children = step.message.map
        if step.message.HasField("map") and (children.total_count or children.total_known):
            ended = children.completed_count + children.failed_count + children.cancelled_count
            failed = f", {children.failed_count} failed" if children.failed_count else ""
            parts.append(f"{bar(ended, children.total_count, BAR)} {ended}/{children.total_count} children{failed}")
        if step.state is StepState.RUNNING:
            parts.append(f"{_took(step.message.phase_since_time.ToDatetime(tzinfo=UTC), None)} attempt {step.attempt} on {step.worker_id}")
        if progress is not None and claim_no == step.claim_no and step.state not in ENDED:
            drawn = bar(progress.done, progress.total, BAR) if progress.done is not None and progress.total else ""
            parts.insert(0, f"{drawn} {shortened(progress.text[-120:], 120)}".strip())
        told = about(step)
        if told:
            parts.append(told)
        if step.state is StepState.BLOCKED and place.joins:
            parts.append(f"after {', '.join(place.joins)}" if len(place.joins) <= 4 else f"after {len(place.joins)} steps")
        return ", ".join(parts)


def bar(done: float | None, total: float | None, width: int) -> str:
    """A bar that is as full as the work is done."""
    share = min(1.0, max(0.0, (done or 0) / total)) if total else 0.0
    full = round(share * width)
    return _FULL * full + _EMPTY * (width - full)


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _took(start: datetime | None, end: datetime | None) -> str:
    if start is None or start.year < 2000:
        return ""
    seconds = int(((end or datetime.now(UTC)) - start).total_seconds())
    minutes, seconds = divmod(max(0, seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h{minutes:02}m" if hours else f"{minutes}m{seconds:02}s" if minutes else f"{seconds}s"
