"""What a namespace decides for all that is in it: how long ended workflows are kept, and what is remembered of them."""

from msgspec.structs import replace

from perdure_server.engine.people import Conditions
from perdure_server.kernel import limits
from tests.engine.families import child_of, family, pools
from tests.engine.harness import World
from tests.kernel.families import mapping

KEEP = 3 * limits.MINUTE
REMEMBER = 4 * limits.MINUTE


async def test_retention_and_memory_are_the_namespace_s_for_children_too(world: World) -> None:
    server = await family(world, mapping("m"))
    await server.namespaces.put(
        "default", lambda settings: replace(settings, retention=KEEP, tombstone_retention=REMEMBER), Conditions("put-1")
    )
    await world.worker(server, pools=pools(3))
    await world.start(server, value=[1])
    await world.until(world.is_completed)
    parent = await world.stored()
    child = child_of(world, parent, 0)
    assert child is not None
    assert child.end_time is not None
    assert parent.end_time is not None
    assert [child.expire_time, parent.expire_time] == [child.end_time + KEEP, parent.end_time + KEEP]

    await world.advance(KEEP + limits.MINUTE)
    buried = await world.stored()
    assert buried.tombstone is not None
    assert buried.expire_time is not None
    assert abs(buried.expire_time - (parent.end_time + KEEP + REMEMBER)) <= limits.MINUTE
    await world.advance(REMEMBER + limits.MINUTE)
    assert await server.store.workflows.load(parent.workflow_id, tombstones=True) is None
