"""Steps that run other workflows, from definition to result."""

import pytest

from perdure import Client, Context, Definition, DefinitionRejected, Failure, MapResult, Page, Retry, StepPolicy, WorkflowState
from perdure.definition_file import dump_definition, parse_definition
from perdure.v1 import definition_pb2

Map = definition_pb2.MapStep


def notices() -> Definition:
    """What is run per item."""
    notice = Definition("notice")

    @notice.step(retry=Retry(max_attempts=1))
    async def send(ctx: Context[None], input: int) -> str:
        if input == 3:
            raise Failure("notice.refused", "as told")
        return f"sent {input}"

    return notice


def test_definitions_and_files_say_the_same() -> None:
    news = Definition("news")
    news.remote_step("split", needs="input")
    news.map("notify", "notice", items="split", join=2, max_in_flight=7, parent_close="abandon", policy=StepPolicy(priority=9))
    news.child("archive", "archive", input="notify", parent_close="terminate")

    @news.pages("page", join="best_effort", after="archive")
    async def crawl(ctx: Context[None], input: str) -> Page:
        return Page([])

    message = news.to_message()
    notify, archive, crawled = message.steps[1:]
    assert (notify.map.items_from, notify.map.join, notify.map.required_count) == ("split", Map.JOIN_N_OF_M, 2)
    assert (list(notify.depends_on), list(notify.needs.names), notify.policy.max_in_flight) == (["split"], ["split"], 7)
    assert (archive.child.child_workflow_type, archive.child.input_from) == ("archive", "notify")
    assert (crawled.map.HasField("paged"), crawled.map.join) == (True, Map.JOIN_BEST_EFFORT)
    text = dump_definition(message)
    assert list(parse_definition(text).steps) == list(message.steps), text


def test_faults_of_files_are_named() -> None:
    with pytest.raises(DefinitionRejected) as caught:
        parse_definition(
            """
workflow_type: news
steps:
  a: {map: {workflow: x, join: some}}
  b: {map: {workflow: x}, child: {workflow: y}}
  c: {max_in_flight: 3}
  d: {child: {workflow: y}, parent_close: kill}
"""
        )
    fields = [violation.field for violation in caught.value.violations]
    assert fields == ["steps.a.map.join", "steps.b", "steps.c.max_in_flight", "steps.d.parent_close"]


async def test_a_map_runs_a_workflow_per_item(client: Client) -> None:
    notice = notices()
    news = Definition("news", output="report")
    news.map("notify", notice, join="best_effort")

    @news.step()
    async def report(ctx: Context[None], notify: MapResult) -> list[object]:
        return [notify.total, notify.completed, [(error.index, error.type) for error in notify.errors]]

    async with client.worker(news, notice):
        run = await client.start(news, key="k", input=list(range(5)))
        assert await run.result() == [5, 4, [[3, "notice.refused"]]]
    found = [child async for child in run.children("notify", with_values=True)]
    assert [child.message.parent.index for child in found] == [0, 1, 2, 3, 4]
    assert found[4].output(str) == "sent 4"
    failed = [child.business_key async for child in run.children(states=[WorkflowState.FAILED])]
    assert failed == [found[3].business_key]


async def test_pages_are_asked_for_by_their_cursor(client: Client) -> None:
    notice = notices()
    news = Definition("news")

    @news.pages(notice, join="best_effort", max_in_flight=2)
    async def crawl(ctx: Context[None], input: int) -> Page:
        first = ctx.cursor or 0
        return Page([first, first + 1], cursor=first + 2 if first + 2 < input else None)

    async with client.worker(news, notice):
        run = await client.start(news, key="k", input=6)
        result = await run.result(MapResult)
    assert (result.total, result.completed, result.failed) == (6, 5, 1)


async def test_a_child_s_output_is_the_step_s(client: Client) -> None:
    notice = notices()
    news = Definition("news")
    news.child("notify", notice, input="input")
    async with client.worker(news, notice):
        run = await client.start(news, key="k", input=1)
        assert await run.result(str) == "sent 1"
