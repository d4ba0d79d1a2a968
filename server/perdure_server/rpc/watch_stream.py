"""One call of Watch: the engine's batches as messages, at the pace of the reader.

The engine is asked for more only when the last message has been taken, so a slow reader holds one batch; what it missed comes as a gap
and a snapshot. One that does not read at all is cut, and may resume with its last token.
"""

from collections.abc import AsyncGenerator, Iterable, Iterator
from contextlib import aclosing
from typing import cast

from perdure.v1 import workflow_pb2
from perdure.v1.workflow_service_pb2 import WatchRequest
from perdure_server.engine.service import Engine
from perdure_server.engine.values import ChangeItem, EndItem, FrameItem, SnapshotItem, WatchItem
from perdure_server.kernel.limits import READ_INLINE
from perdure_server.rpc import limits
from perdure_server.rpc.decode import workflows as decode
from perdure_server.rpc.encode.watching import response
from perdure_server.rpc.leaving import Leaving
from perdure_server.rpc.transport import Context
from perdure_server.rpc.unread import write

_ITEM_FIELDS = 512  # what an event takes beside its payload: names, its token


async def watch(engine: Engine, leaving: Leaving, request: WatchRequest, context: Context) -> None:
    """Until the end of the workflow, of the call, or of this server's patience. Raises what the guard maps."""
    ref = decode.look(request)
    detail = request.view or workflow_pb2.WORKFLOW_VIEW_FULL
    items = engine.watch(ref, request.resume_token, request.include_frames, request.follow)
    async with leaving.cut_short(leaving.age()), aclosing(cast("AsyncGenerator[list[WatchItem]]", items)) as batches:
        async for batch in batches:
            for part in _parts(batch):
                await write(context, response(part, detail))


def _parts(batch: Iterable[WatchItem]) -> Iterator[list[WatchItem]]:
    # No message may be larger than what clients take.
    part: list[WatchItem] = []
    size = 0
    for item in batch:
        own = _size(item)
        if part and size + own > limits.RESPONSE:
            yield part
            part, size = [], 0
        part.append(item)
        size += own
    if part:
        yield part


def _size(item: WatchItem) -> int:
    if isinstance(item, FrameItem) and item.frame.payload is not None:
        return _ITEM_FIELDS + item.frame.payload.inline_size
    if isinstance(item, SnapshotItem | EndItem):
        return READ_INLINE
    if isinstance(item, ChangeItem):
        step = item.view.workflow.steps.get(item.event.step)
        return _ITEM_FIELDS + (step.output.inline_size if step is not None and step.output is not None else 0)
    return _ITEM_FIELDS
