"""At its limits a workflow can still be read, cancelled, terminated, redacted, exported and purged (cases C65, C88)."""

from typing import Any, cast

import pytest

from perdure_server.engine.people import Conditions
from perdure_server.engine.redaction import RedactArguments
from perdure_server.engine.selection import Selection
from perdure_server.engine.service import Engine
from perdure_server.kernel import limits
from perdure_server.kernel.outcomes import Completed, Failed
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.kernel.values import Failure, RetryPolicy
from perdure_server.kernel.workflow import Signal, WorkflowState
from perdure_server.ports.errors import DocumentTooLarge
from perdure_server.ports.store import WorkflowQuery
from perdure_server.store.memory import MemoryWorkflows
from tests.engine.harness import World
from tests.engine.workers import completing, holding
from tests.kernel.harness import activity, payload

ALL = Selection(WorkflowQuery("default"))


def size_of(world: World, name: str = "k") -> int:
    """Bytes of the stored document."""
    return len(cast("MemoryWorkflows", world.store.workflows)._stored[world.key(name).workflow_id].raw)


async def can_be_read(world: World, server: Engine) -> None:
    view = await server.get(world.ref(), with_payloads=True)
    (row,) = (await server.listing.page(ALL, 10, None)).views
    assert row.workflow.revision == view.workflow.revision
    assert (await server.explain(world.ref())).view.workflow.revision == view.workflow.revision
    assert [line async for line in server.operations.transfer.export(world.ref(), False, False)]


async def can_be_ended_and_removed(world: World, server: Engine, how: str) -> None:
    if how == "cancel":
        await server.cancel(world.ref(), "enough", "r")
        await world.advance(limits.CANCEL_GRACE + 1_000)
    else:
        await server.people.terminate(world.ref(), "enough", Conditions("r"))
    assert (await world.stored()).is_ended
    await can_be_read(world, server)
    assert await server.operations.redaction.redact(world.ref(), RedactArguments(), Conditions("r"))
    await server.remove(world.ref(), Conditions())
    assert not (await server.listing.page(ALL, 10, None)).views


@pytest.mark.parametrize("how", ["cancel", "terminate"])
async def test_c88_a_full_inbox_refuses_clearly_and_leaves_every_way_out(world: World, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "INBOX_SIGNALS", 100)
    server = await world.server()
    await world.define(server, "a", "b: a")
    await world.worker(server, script=holding)
    await world.start(server)
    for number in range(limits.INBOX_SIGNALS):
        await server.signal(world.ref(), Signal(f"s{number}", "go", 0, payload("x" * 4_000)))
    with pytest.raises(Rejection) as caught:
        await server.signal(world.ref(), Signal("one-more", "go", 0, None))
    assert (caught.value.reason, caught.value.facts["limit"]) == (Reason.SIGNAL_INBOX_FULL, str(limits.INBOX_SIGNALS))
    assert size_of(world) < limits.DOCUMENT
    await can_be_read(world, server)
    await can_be_ended_and_removed(world, server, how)


@pytest.mark.parametrize("how", ["cancel", "terminate"])
async def test_c88_a_full_document_leaves_every_way_out(world: World, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    server = await world.server()
    await world.define(server, "a", "b: a")
    await world.worker(server, script=holding)
    await world.start(server)
    await world.settle()
    monkeypatch.setattr(limits, "DOCUMENT", limits.DOCUMENT_RESERVE + 1)
    with pytest.raises(DocumentTooLarge):
        await server.signal(world.ref(), Signal("s", "go", 0, payload("x" * 1_000)))
    await can_be_read(world, server)
    await can_be_ended_and_removed(world, server, how)


async def test_c65_failed_attempts_keep_the_last_ten_and_no_more(world: World) -> None:
    server = await world.server()
    forever = RetryPolicy(max_attempts=None, initial_interval=1, max_interval=1, jitter=0.0)
    await world.define(server, activity("a", retry=forever))
    failure = Failure("t.x", "m" * 2_000, payload("d" * 2_000))
    worker = await world.worker(server, script=lambda _: Failed(failure))
    await world.start(server)
    await world.until(lambda: len(worker.got) >= 300)
    first = size_of(world)
    await world.until(lambda: len(worker.got) >= 600)
    step = await world.step("a")
    assert (len(step.errors), step.attempt >= 599) == (limits.ATTEMPT_ERRORS, True)
    assert abs(size_of(world) - first) < 1_000, "it does not grow with the attempts"
    await can_be_read(world, server)
    await can_be_ended_and_removed(world, server, "terminate")


async def test_c65_five_hundred_outputs_of_64_kib_do_not_enlarge_the_document(world: World) -> None:
    server = await world.server()
    names = [f"s{number}" for number in range(500)]
    await world.define(server, "first", *(f"{name}: first" for name in names))
    output: Any = payload("x" * 64 * 1024)
    await world.worker(server, script=lambda claim: Completed(output) if claim.plan.name != "first" else completing(claim), slots=50)
    await world.start(server)
    await world.until(lambda: size_of(world) and server.mailboxes.busy == 0 and not server.mailboxes.known(world.key().workflow_id))
    stored = await world.stored()
    assert stored.state is WorkflowState.COMPLETED
    assert size_of(world) < limits.DOCUMENT // 8
    await can_be_read(world, server)
    await server.remove(world.ref(), Conditions())
