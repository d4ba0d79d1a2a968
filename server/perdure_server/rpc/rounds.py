"""ListRounds: pages of the kept rounds of one key."""

from perdure.v1 import workflow_pb2
from perdure.v1 import workflow_service_pb2 as wire
from perdure_server.engine.listing import Detail
from perdure_server.engine.service import Engine
from perdure_server.kernel.workflow import WorkflowKey
from perdure_server.rpc import limits, page_tokens
from perdure_server.rpc.encode import workflows

_WITH_STEPS = 100  # rows of one page that carries more than BASIC


async def page(engine: Engine, key: WorkflowKey, size: int, detail: Detail, token: str) -> wire.ListRoundsResponse:
    """One page, as far as one answer may carry. Raises Rejection PAGE_TOKEN_INVALID, WORKFLOW_NOT_FOUND, StoreUnavailable."""
    scope = ("rounds", key.namespace, key.workflow_type, key.business_key)
    position = page_tokens.decode_key(scope, token)
    below = int(position[0]) if position else None
    found, following = await engine.rounds.kept(key, below, size if detail is Detail.BASIC else min(size, _WITH_STEPS))
    response = wire.ListRoundsResponse()
    taken = 0
    for index, row in enumerate(found):
        view = await engine.queries.view(row)
        if detail is Detail.FULL:
            view = await engine.queries.resolve(view)
        message = workflow_pb2.Workflow()
        workflows.workflow(message, view, workflow_pb2.WorkflowView.ValueType(detail))
        taken += message.ByteSize()
        if index and taken > limits.RESPONSE:
            following = found[index - 1].round
            break
        response.rounds.append(message)
    if following is not None:
        response.next_page_token = page_tokens.encode_key(scope, [str(following)])
    return response
