"""A user's program, whole and strict: `make types` has pyright read it as its author's editor would. Only its plan is made here."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from perdure import (
    BatchOperation,
    Branch,
    Chosen,
    ClaimLost,
    Client,
    Context,
    Cron,
    Definition,
    ErrorReason,
    Every,
    Failure,
    Filter,
    Frame,
    InvalidRequest,
    MapResult,
    NotFound,
    Page,
    Payload,
    PerdureError,
    PolledClaim,
    Rate,
    Resolution,
    Retry,
    Run,
    ScheduledStart,
    Start,
    StartSignal,
    StepPolicy,
    Tls,
    Wait,
    Woken,
    WorkflowFailed,
    WorkflowPolicy,
    WorkflowRef,
    WorkflowState,
)
from perdure.outbox import run_of, start_document
from perdure.sync import Client as SyncClient
from perdure.testing import ActivityEnvironment, fake_context, start_server


@dataclass
class Audio:
    url: str


@dataclass
class Text:
    words: list[str]


item = Definition("item")


@item.step()
def count(ctx: Context[None], input: str) -> int:
    ctx.raise_if_cancelled()
    return len(input)


note = Definition("note", version="1", policy=WorkflowPolicy(workflow_timeout=timedelta(days=7)))


@note.step(retry=Retry(max_attempts=4), attempt_timeout=timedelta(minutes=2), permits={"asr": 1})
async def transcribe(ctx: Context[str], input: Audio) -> Text | Wait:
    task = ctx.checkpoint or await ctx.save(input.url)
    woken = ctx.woken(str)
    if woken is None:
        return Wait.any(signal="asr.done", after=timedelta(seconds=30))
    return Text([task, woken.value or ""])


choice = note.wait("choice", after=transcribe, signal="choose", payload=int, timeout=timedelta(days=3))


@note.step()
async def decide(ctx: Context[None], transcribe: Text, choice: Woken[int]) -> Chosen[int]:
    ctx.progress(1, 2, unit="steps")
    return Chosen("long" if choice.value else "short", len(transcribe.words))


long: Branch = decide.branch("long")


@note.step(after=long)
async def split(ctx: Context[None], transcribe: Text) -> list[str]:
    if not transcribe.words:
        raise Failure("note.empty", "nothing was said", non_retryable=True, details={"words": 0})
    return [await ctx.frame(word) for word in transcribe.words]


counts = note.map("counts", item, items=split, join="best_effort")


@note.pages(item)
async def more(ctx: Context[None]) -> Page:
    return Page(["a", "b"], cursor=None if ctx.cursor else 1)


@note.step()
def publish(ctx: Context[None], counts: MapResult) -> str:
    return f"{ctx.business_key}: {counts.completed}"


@note.hook("failure_finalizer")
async def tell(ctx: Context[None]) -> None:
    print(ctx.hook, ctx.fence, ctx.idempotency_key, ctx.labels)


@note.compensation(transcribe)
async def forget(ctx: Context[None]) -> None:
    ctx.alive()


async def use(client: Client) -> str:
    run: Run = await client.start(note, key="note-42", input=Audio("s3://a.mp3"), signals=[StartSignal("choose", 1)], labels={"t": "acme"})
    async for event in run.watch(idle=True):
        if isinstance(event, Frame):
            print(event.text)
        if event.waits_for("choose"):
            print((await run.signal("choose", 1, signal_id="click-7")).duplicate)
    try:
        found = await run.result(str, timeout=timedelta(minutes=1))
    except WorkflowFailed as error:
        return error.failure.type
    except NotFound as error:
        if error.reason == ErrorReason.WORKFLOW_NOT_FOUND:
            raise
        return ""
    except InvalidRequest as error:
        return ", ".join(violation.field for violation in error.violations)
    return found


async def start_many(client: Client, keys: Sequence[str]) -> dict[str, PerdureError]:
    told = await client.start_many([Start(workflow=note, key=key, input=Audio(key)) for key in keys])
    return {key: answer for key, answer in zip(keys, told, strict=True) if isinstance(answer, PerdureError)}


async def look_after(client: Client) -> None:
    failed = Filter(workflow=note, states=[WorkflowState.FAILED], labels={"tenant": "acme"}, started_after=datetime(2027, 1, 1, tzinfo=UTC))
    print((await client.count(failed, group_by="state")).groups)
    batch = await client.batches.start(failed, BatchOperation.replay(reopen=publish), reason="the bank is back")
    print(batch.succeeded, [refused.message for refused in batch.errors])
    await client.batches.start(failed, BatchOperation.update_step(publish, StepPolicy(priority=7)))
    await client.schedules.put("nightly", [Cron("0 3 * * *"), Every(timedelta(hours=1))], ScheduledStart(workflow=note, input=Audio("x")))
    resource = await client.resources.put("asr", capacity=20, rate=Rate(600, timedelta(minutes=1)))
    print(resource.capacity)
    async for workflow in client.list(where=failed):
        for step in workflow.steps.values():
            print(step.name, step.state, step.output(Text), step.next_time)
    async for queue in client.operations.queues(phases=["NO_WORKER"]):
        print(queue.workflow_type, queue.step)
    async for record in client.operations.audit(WorkflowRef("note", "note-42")):
        print(record.actor, record.facts)
    async for changed in client.watch_many(failed):
        print(changed)
    run = client.run(note, "note-42")
    await run.resolve(publish, Resolution.completed("by hand"), reason="done on paper")
    explanation = await run.explain()
    print([blocker.summary for step in explanation.steps for blocker in step.blockers])
    print([attempt.failure async for attempt in run.attempts(publish)], [chunk async for chunk in run.export()])
    print((await client.server_info()).limits, await client.definitions.register(note, activate=True))


async def poll(client: Client) -> None:
    claims: Sequence[PolledClaim] = await client.poll(note, max_claims=2, lease=timedelta(minutes=5))
    for claim in claims:
        try:
            inputs = await claim.inputs()
            await claim.complete(Text([str(inputs)]))
        except ClaimLost as error:
            print(error.cause, claim.facts.attempt)


async def relay(client: Client) -> str:
    document = start_document(note, key="k", input=Audio("x"))
    return await (await run_of(client, document, note)).result(str)


def blocking() -> str:
    with SyncClient("perdure.example:443", tls=Tls(ca_file="ca.pem"), token_file="token") as client, client.worker(note):
        run = client.start(note, key="k", input=Payload(json='{"url": "x"}'))
        for event in run.watch():
            print(event)
        print(run_of(client, start_document(note, key="k")).key)
        return run.result(str)


async def tried() -> None:
    ctx = fake_context(checkpoint="task")
    text = await transcribe(ctx, Audio("x"))
    assert not isinstance(text, Wait)
    assert text.words == ctx.recorded.checkpoints
    environment = ActivityEnvironment(business_key="k")
    print(environment)
    async with start_server() as server, server.client() as client, client.worker(note, slots={"transcribe": 2}):
        run = await client.start(note, key="k", input=Audio("x"))
        await server.advance(timedelta(days=3))
        print(await server.result(run, str))


async def main() -> None:
    async with Client() as client, client.worker(note, item, slots={"transcribe": 50}, lease=timedelta(seconds=30)):
        print(await use(client), await start_many(client, ["a"]))
        await look_after(client)


def test_its_definitions_are_sound() -> None:
    assert [step.name for step in note.to_message().steps] == list(note.steps)
    assert [step.name for step in item.to_message().steps] == ["count"]
