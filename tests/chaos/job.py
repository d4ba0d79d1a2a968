"""The work of a scene: fetch -> (left || right, which fails once for every fifth key) -> wait for `go` -> publish.

Both kinds of worker run it: one on the Python client, one on the generated code alone.
"""

import json
import os
import zlib

from perdure.v1 import claim_pb2, definition_pb2, worker_service_pb2
from tests.e2e.channels import definition
from tests.e2e.stream_worker import lapse

SECONDS = 0.5  # of each activity: long enough that a kill finds many in the middle
STEPS = ("fetch", "left: fetch", "right: fetch", "wait_go: left right", "publish: wait_go left right")
ACTIVITIES = ("fetch", "left", "right", "publish")


def job_definition(workflow_type: str, attempts: int) -> definition_pb2.Definition:
    """`attempts` = 3 bears one kill of everything; random kills may hit the same step again and again."""
    made = definition(workflow_type, *STEPS, attempts=attempts)
    made.policy.max_lost_claims = attempts * 2
    return made


async def perform(claim: claim_pb2.Claim) -> worker_service_pb2.Result:
    """The activity of any step; its output names the claim and the process that made it."""
    await lapse(SECONDS)
    result = worker_service_pb2.Result()
    if fails(claim.step, claim.workflow.business_key, claim.attempt):
        result.failed.type, result.failed.message = "job.flaky", "the first attempt of every fifth key fails"
    else:
        result.completed.output.json = json.dumps(made_by(claim.step, claim.claim_no))
    return result


def fails(step: str, key: str, attempt: int) -> bool:
    """Whether this attempt is one that fails."""
    return step == "right" and attempt == 1 and zlib.crc32(key.encode()) % 5 == 0


def made_by(step: str, claim_no: int) -> list[object]:
    """An output that no other execution makes."""
    return [step, claim_no, os.getpid(), os.urandom(4).hex()]
