"""FetchPayload by a claim token: for the claim that is current, and for nobody who only knows where a value is."""

import base64

from perdure.v1 import worker_service_pb2 as work
from perdure.v1 import workflow_service_pb2 as wire
from perdure_server.kernel import limits
from tests.rpc.conftest import Served, ref, refused
from tests.rpc.test_services import poll

NONCE = 12


def forged(token: str) -> str:
    """The same claim, but for the part that cannot be known."""
    body, _, step = token.partition(".")
    raw = base64.urlsafe_b64decode(body)
    return f"{base64.urlsafe_b64encode(raw[:-NONCE] + bytes(NONCE)).decode()}.{step}"


async def test_only_the_current_claim_opens_a_value(served: Served) -> None:
    await served.register("a")
    request = wire.StartWorkflowRequest(workflow=ref())
    request.input.binary = b"x" * (limits.CLAIM_INLINE + 1)
    await served.workflows.StartWorkflow(request)
    claim = (await poll(served)).claims[0]
    payload_id = claim.inputs["input"].ref.payload_id
    assert payload_id

    def fetch(token: str) -> wire.FetchPayloadRequest:
        return wire.FetchPayloadRequest(claim_token=token, payload_id=payload_id)

    found = await served.workflows.FetchPayload(fetch(claim.claim_token))
    assert found.payload.binary == request.input.binary
    told = await refused(served.workflows.FetchPayload(fetch(forged(claim.claim_token))))
    assert told.reason == "CLAIM_LOST"
    await served.workers.Complete(work.CompleteRequest(claim_token=claim.claim_token, completed=work.Result().completed))
    assert (await refused(served.workflows.FetchPayload(fetch(claim.claim_token)))).reason == "CLAIM_LOST"
