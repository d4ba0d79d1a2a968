"""The end of a key's document: retention is over, or a person deletes it. What is left remembers who it was, for a while."""

from typing import Final

from msgspec import NODEFAULT
from msgspec.structs import FieldInfo, fields

from perdure_server.kernel import limits
from perdure_server.kernel.definition import Definition
from perdure_server.kernel.draft import Draft
from perdure_server.kernel.duties import take_duty
from perdure_server.kernel.people import is_repeat, remember
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.kernel.workflow import DutyKind, Tombstone, Workflow

NOTHING: Final = Definition("", "", ())
"""The definition of tombstones, whose own may be gone."""

# Identity, round, fence, digests, end, and what its duties and repeats need.
_STAYS: Final = frozenset(
    {"end_time", "policy_revision", "input_digest", "request_ids", "past_requests", "past_runs", "actions", "duties", "parent"}
)


def expire(draft: Draft, keep: int = limits.TOMBSTONE) -> bool:
    """Retention is over: a tombstone is left for `keep` ms, and the duty to free the payloads.

    False = it is not, or something must be done before.
    """
    workflow = draft.workflow
    due = workflow.expire_time
    if not workflow.is_ended or workflow.tombstone is not None or workflow.archived or workflow.duties or due is None or due > draft.now:
        return False
    _bury(draft, Tombstone(draft.now), keep)
    return True


def delete(draft: Draft, request_id: str, content: str = "", keep: int = limits.TOMBSTONE) -> bool:
    """A person removes the key with all its rounds, and sets it free. False = this very request did.

    Raises Rejection WORKFLOW_NOT_CLOSED, WORKFLOW_NOT_FOUND.
    """
    workflow = draft.workflow
    if is_repeat(workflow, "delete", request_id, content):
        return False
    if workflow.tombstone is not None:
        raise Rejection(Reason.WORKFLOW_NOT_FOUND, "There is no workflow with this key.")
    if not workflow.is_ended:
        raise Rejection(Reason.WORKFLOW_NOT_CLOSED, "Only an ended workflow can be deleted.", state=workflow.state.name)
    _bury(draft, Tombstone(draft.now, deleted=True), keep)
    remember(draft, "delete", request_id, content)
    take_duty(draft, DutyKind.REMOVE_ROUNDS)
    return True


def delete_round(draft: Draft, number: int, request_id: str, content: str = "") -> bool:
    """A person removes an archived round, which the caller has found ended. False = this very request did."""
    if is_repeat(draft.workflow, "delete", request_id, content):
        return False
    remember(draft, "delete", request_id, content)
    return take_duty(draft, DutyKind.REMOVE_ROUND, number=number)


def outlast(draft: Draft, until: int) -> None:
    """A tombstone stays as long as something of its key does."""
    draft.set(expire_time=min(max(until, draft.now + limits.MINUTE), limits.TIME))


def _bury(draft: Draft, tombstone: Tombstone, keep: int) -> None:
    gone = {field.name: _default(field) for field in fields(Workflow) if not (field.required or field.name in _STAYS)}
    draft.set(**gone, steps={}, remaining=0, step_count=0)
    draft.set(tombstone=tombstone, expire_time=min(draft.now + keep, limits.TIME))
    take_duty(draft, DutyKind.FREE_PAYLOADS, draft.workflow.run_id)


def _default(field: FieldInfo) -> object:
    return field.default if field.default_factory is NODEFAULT else field.default_factory()
