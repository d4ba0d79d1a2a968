"""One call of WatchWorkflows: the engine's batches as messages, at the pace of the reader."""

from collections.abc import AsyncGenerator, Iterable, Iterator
from contextlib import aclosing
from typing import cast

from perdure.v1 import workflow_pb2
from perdure.v1 import workflow_service_pb2 as wire
from perdure_server.engine.listing import Detail
from perdure_server.engine.service import Engine
from perdure_server.engine.watch_many import ChangedItem, ExistingItem, ManyItem, MissedItem, RemovedItem
from perdure_server.rpc import limits
from perdure_server.rpc.decode import filters
from perdure_server.rpc.encode import values, workflows
from perdure_server.rpc.leaving import Leaving
from perdure_server.rpc.transport import Context
from perdure_server.rpc.unread import write


async def watch_many(engine: Engine, leaving: Leaving, request: wire.WatchWorkflowsRequest, context: Context) -> None:
    """Until the end of the call, or of this server's patience. Raises what the guard maps."""
    selection, detail = filters.watched(request)
    items = engine.watch_many(selection, request.resume_token, request.skip_existing)
    async with leaving.cut_short(leaving.age()), aclosing(cast("AsyncGenerator[list[ManyItem]]", items)) as batches:
        async for batch in batches:
            for part in _parts(batch, detail):
                await write(context, part)


def _parts(batch: Iterable[ManyItem], detail: Detail) -> Iterator[wire.WatchWorkflowsResponse]:
    # No message may be larger than what clients take.
    part, size = wire.WatchWorkflowsResponse(), 0
    for item in batch:
        event = _event(item, detail)
        own = event.ByteSize()
        if part.events and size + own > limits.RESPONSE:
            yield part
            part, size = wire.WatchWorkflowsResponse(), 0
        part.events.append(event)
        size += own
    if part.events:
        yield part


def _event(item: ManyItem, detail: Detail) -> wire.WorkflowsEvent:
    event = wire.WorkflowsEvent(resume_token=item.resume_token)
    if isinstance(item, ChangedItem):
        workflows.workflow(event.changed, item.view, workflow_pb2.WorkflowView.ValueType(detail))
    elif isinstance(item, RemovedItem):
        values.ref(event.removed, item.key, item.round)
    elif isinstance(item, ExistingItem):
        event.existing_sent.count = item.count
    elif isinstance(item, MissedItem):
        event.gap.changes = True
        event.gap.reason = item.reason
    else:
        event.keep_alive.SetInParent()
    if isinstance(item, ExistingItem) and not item.count:
        event.existing_sent.SetInParent()
    return event
