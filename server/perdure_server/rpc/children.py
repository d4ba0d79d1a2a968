"""ListChildren: its pages and their tokens."""

from perdure.v1 import workflow_pb2
from perdure.v1 import workflow_service_pb2 as wire
from perdure_server.engine.child_list import ChildList, Place
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.rpc import page_tokens
from perdure_server.rpc.decode import children as decode
from perdure_server.rpc.encode import children as encode


async def list_children(children: ChildList, request: wire.ListChildrenRequest) -> wire.ListChildrenResponse:
    """One page. Raises FieldViolation, Rejection, StoreUnavailable."""
    query, size = decode.list_query(request)
    key = query.ref.key
    states = [state.name for state in sorted(query.states)]
    scope = ("children", key.namespace, key.workflow_type, key.business_key, str(query.ref.round), query.step, *states)
    place = _place(page_tokens.decode_key(scope, request.page_token))
    found = await children.page(query, size, place)
    detail = request.view or workflow_pb2.WORKFLOW_VIEW_BASIC
    return encode.page(found, detail, lambda at: page_tokens.encode_key(scope, [str(at.position), str(at.index)]))


def _place(key: list[str]) -> Place:
    if not key:
        return Place(0, 0)
    try:
        position, index = (int(part) for part in key)
    except ValueError:
        raise Rejection(Reason.PAGE_TOKEN_INVALID, "This page_token is not from this list with these arguments.") from None
    return Place(position, index)
