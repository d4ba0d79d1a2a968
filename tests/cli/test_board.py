"""The picture of a live watch, without a terminal: any graph, any number of steps, any width."""

from rich.console import Console, Group

from perdure.cli.board import Board, bar
from perdure.cli.graph import places_of
from perdure.events import Change, Frame, FramesReset, Snapshot
from perdure.v1 import watch_pb2, workflow_pb2
from perdure.view import StepState, workflow_of

STATES = workflow_pb2.StepView


def drawn(needs: dict[str, list[str]]) -> list[str]:
    return [f"{place.guide}{place.name}{' < ' + ','.join(place.joins) if place.joins else ''}" for place in places_of(needs)]


def test_a_chain_is_not_indented_and_a_fork_is() -> None:
    assert drawn({"a": [], "b": ["a"], "c": ["b"]}) == ["a", "b", "c"]
    assert drawn({"a": [], "b": ["a"], "c": ["a"], "d": ["b", "c"]}) == ["a", "├─ b", "├─ c", "└─ d < b,c"]
    assert drawn({"join": ["y", "x"], "x": [], "y": []}) == ["x", "y", "join < y,x"]
    assert drawn({"a": [], "b": ["a"], "c": ["a"], "b2": ["b"], "c2": ["c"]}) == ["a", "├─ b", "│  b2", "└─ c", "   c2"]


def test_a_thousand_steps_in_a_row_are_no_recursion() -> None:
    needs = {f"s{number}": [f"s{number - 1}"] if number else [] for number in range(3_000)}
    places = places_of(needs)
    assert [place.name for place in places] == list(needs)
    assert {place.guide for place in places} == {""}


def snapshot(count: int, **states: int) -> Snapshot:
    message = workflow_pb2.Workflow(state=workflow_pb2.Workflow.STATE_RUNNING)
    message.workflow.workflow_type, message.workflow.business_key, message.workflow.round = "note", "n", 1
    for number in range(count):
        name = f"step{number}"
        message.steps.add(name=name, state=states.get(name, STATES.STATE_BLOCKED))
    return Snapshot(workflow=workflow_of(message))


def board_of(count: int, **states: int) -> Board:
    board = Board("note/n")
    board.take(snapshot(count, **states))
    board.arrange({f"step{number}": [f"step{number - 1}"] if number else [] for number in range(count)})
    return board


def test_five_steps_are_all_there() -> None:
    lines = [str(line) for line in board_of(5, step0=STATES.STATE_COMPLETED, step1=STATES.STATE_RUNNING).lines(100, 30)]
    assert "RUNNING" in lines[0]
    assert "1/5 steps" in lines[0]
    assert [line.split()[0] for line in lines[1:6]] == [f"step{number}" for number in range(5)]


def test_of_a_thousand_steps_those_that_matter_are_shown_and_the_rest_is_counted() -> None:
    board = board_of(1_000, step0=STATES.STATE_COMPLETED, step700=STATES.STATE_RUNNING, step800=STATES.STATE_HELD)
    lines = [str(line) for line in board.lines(80, 24)]
    assert len(lines) <= 24
    assert any(line.startswith("step700") and "RUNNING" in line for line in lines)
    assert any(line.startswith("step800") and "HELD" in line for line in lines)
    assert any("more: " in line and "BLOCKED" in line for line in lines)


def test_no_line_is_wider_than_a_narrow_terminal() -> None:
    board = board_of(30, step3=STATES.STATE_RUNNING)
    for width in (20, 33, 80):
        for height in (5, 10, 40):
            lines = board.lines(width, height)
            assert len(lines) <= height
            assert max(line.cell_len for line in lines) <= width


def test_without_colour_there_is_none() -> None:
    console = Console(width=80, height=24, no_color=True, force_terminal=True, color_system="truecolor")
    with console.capture() as captured:
        console.print(Group(*board_of(3, step1=STATES.STATE_RUNNING).lines(80, 24)))
    assert "\x1b[36m" not in captured.get()
    assert "RUNNING" in captured.get()


def frame(seq: int, kind: watch_pb2.Frame.Kind.ValueType, content: str) -> Frame:
    message = watch_pb2.Frame(kind=kind)
    message.payload.json = content
    return Frame(step="step1", claim_no=1, seq=seq, kind=watch_pb2.Frame.Kind.Name(kind).removeprefix("KIND_"), message=message)


def test_progress_is_a_bar_until_its_claim_is_void() -> None:
    board = board_of(2, step1=STATES.STATE_RUNNING)
    board.take(change("step1", StepState.RUNNING, claim_no=1))
    board.take(frame(1, watch_pb2.Frame.KIND_PROGRESS, '{"done": 3, "total": 6, "unit": "pages"}'))
    row = next(str(line) for line in board.lines(100, 30) if str(line).startswith("step1"))
    assert "██████░░░░░░ 3/6 pages" in row
    board.take(FramesReset(step="step1", claim_no=1))
    assert not any("pages" in str(line) for line in board.lines(100, 30))
    board.take(frame(2, watch_pb2.Frame.KIND_TEXT, '"la "'))
    board.take(frame(3, watch_pb2.Frame.KIND_TEXT, '"la"'))
    assert any("la la" in str(line) for line in board.lines(100, 30))


def change(step: str, state: StepState, claim_no: int = 0) -> Change:
    return Change(
        seq=1,
        round=1,
        reason="GRANT",
        step=step,
        step_state=state,
        workflow_state=None,
        attempt=1,
        claim_no=claim_no,
        worker_id="w",
        failure=None,
        signals=(),
        signal_name="",
        time=None,
        next_time=None,
        message=watch_pb2.StateChange(),
    )


def test_changes_move_what_is_shown_without_asking_again() -> None:
    board = board_of(3)
    board.take(change("step2", StepState.COMPLETED))
    lines = [str(line) for line in board.lines(100, 30)]
    assert "1/3 steps" in lines[0]
    assert any(line.startswith("step2") and "COMPLETED" in line for line in lines)


def test_a_bar_is_as_full_as_the_work_is_done() -> None:
    assert [bar(done, 10, 4) for done in (0, 5, 10, 20)] == ["░░░░", "██░░", "████", "████"]
    assert bar(None, None, 3) == "░░░"
