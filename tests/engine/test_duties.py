"""Duties: performed at once after the write that stored them, and again until they are known to be done."""

import pytest

from perdure_server.engine.duties import DutyCommand
from perdure_server.engine.service import Engine
from perdure_server.engine.turn import Turn
from perdure_server.kernel.definition import Definition
from perdure_server.kernel.duties import take_duty
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.kernel.workflow import Duty, DutyKind, Workflow
from perdure_server.ports.errors import StoreUnavailable
from perdure_server.store.memory import Moment
from tests.engine.harness import World

KIND = DutyKind.ACTIVATE_ROUND


class Takes:
    """A command that takes a duty on."""

    def __init__(self, subject: str = "") -> None:
        self.subject = subject

    def begin(self) -> tuple[Definition, Workflow] | None:
        return None

    def shrink(self) -> bool:
        return False

    def apply(self, turn: Turn) -> bool:
        return take_duty(turn.draft, KIND, self.subject)


class Performer:
    """Notes when it is asked for what; raises what it is given first, then says `done`."""

    def __init__(self, world: World, *errors: Exception, done: bool = True) -> None:
        self.world = world
        self.errors = list(errors)
        self.done = done
        self.times: list[int] = []
        self.subjects: list[str] = []

    async def __call__(self, workflow: Workflow, duty: Duty) -> bool:
        self.times.append(self.world.now())
        self.subjects.append(duty.subject)
        assert duty.name in {known.name for known in (await self.world.stored()).duties}, "stored before it is performed"
        if self.errors:
            raise self.errors.pop(0)
        return self.done


async def begun(world: World, *errors: Exception, done: bool = True) -> tuple[Engine, Performer]:
    server = await world.server()
    performer = Performer(world, *errors, done=done)
    server.duties._performers[KIND] = performer
    await world.define(server, "a")
    await world.start(server)
    return server, performer


async def take(world: World, server: Engine, subject: str = "") -> bool:
    taken, _ = await server.mailboxes.submit(world.key().workflow_id, Takes(subject))
    await world.settle()
    return taken


async def test_a_duty_is_performed_at_once_and_forgotten(world: World) -> None:
    server, performer = await begun(world)
    assert await take(world, server)
    assert performer.times == [world.now()]
    assert (await world.stored()).duties == ()
    await world.advance(120_000)
    assert len(performer.times) == 1


async def test_a_failed_duty_is_tried_again_after_a_second_doubling_to_a_minute_also_in_an_ended_workflow(world: World) -> None:
    refusal = Rejection(Reason.WORKFLOW_NOT_FOUND, "not there yet")
    server, performer = await begun(world, *([refusal, StoreUnavailable("away"), ValueError("a fault of ours"), refusal] * 2))
    await world.worker(server)
    await world.until(lambda: world.spans.ended)
    begun_at = world.now()
    await take(world, server)
    assert await world.completed()
    await world.advance(300_000)
    pauses = [later - earlier for earlier, later in zip(performer.times, performer.times[1:], strict=False)]
    assert performer.times[0] == begun_at
    for pause, least in zip(pauses, [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000], strict=True):
        assert least <= pause <= least + 2_500
    assert (await world.stored()).duties == ()
    assert server.supervisor.failures == 2
    server.supervisor.failures = 0


async def test_several_duties_are_told_apart_by_their_subject(world: World) -> None:
    server, performer = await begun(world, ValueError("first"))
    assert await take(world, server, "one")
    assert not await take(world, server, "one"), "it has it already"
    assert await take(world, server, "two")
    assert [duty.subject for duty in (await world.stored()).duties] == ["one"]
    await world.advance(4_000)
    assert performer.subjects == ["one", "two", "one"]
    assert (await world.stored()).duties == ()
    server.supervisor.failures = 0


async def test_a_performer_may_see_to_the_rest_itself(world: World) -> None:
    server, performer = await begun(world, done=False)
    await take(world, server)
    (duty,) = (await world.stored()).duties
    await server.mailboxes.submit(world.key().workflow_id, DutyCommand(duty, failed=False))
    await world.advance(10_000)
    assert len(performer.times) == 1
    assert (await world.stored()).duties == ()


@pytest.mark.parametrize("moment", Moment)
async def test_another_server_performs_it_when_this_one_is_gone_before_it_was_done(world: World, moment: Moment) -> None:
    server, _ = await begun(world, *[StoreUnavailable("away")] * 100)
    other = await world.server()
    second = Performer(world)
    other.duties._performers[KIND] = second
    await take(world, server)
    await server.close()
    world.faults.fail("workflows.commit", moment)  # of the word that it is done
    await world.advance(20_000)
    assert second.times
    assert (await world.stored()).duties == ()


async def test_a_duty_that_hangs_is_given_up_and_tried_again_and_stops_no_other(world: World) -> None:
    server, performer = await begun(world)

    async def hangs(_workflow: Workflow, duty: Duty) -> bool:
        performer.times.append(world.now())
        await world.faults.hold("never").wait()
        return True

    server.duties._performers[KIND] = hangs
    await take(world, server)
    await world.advance(29_000)
    assert len(performer.times) == 1, "once at a time"
    server.duties._performers[KIND] = performer
    await world.advance(5_000)
    assert (await world.stored()).duties == ()
