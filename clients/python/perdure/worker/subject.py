"""What a line of the worker's log is about, as its `extra`: the fields of the server's log, for whatever formatter the program has."""

from perdure.v1.claim_pb2 import Claim


def about(claim: Claim) -> dict[str, str | int]:
    """`workflow` (namespace/type/key), `step`, `claim_no`, and `trace_id` if there is a trace. Never a payload, never a token."""
    where = claim.workflow
    found: dict[str, str | int] = {
        "workflow": f"{where.namespace}/{where.workflow_type}/{where.business_key}",
        "step": claim.step,
        "claim_no": claim.claim_no,
    }
    if claim.traceparent:
        found["trace_id"] = claim.traceparent.split("-")[1]
    return found
