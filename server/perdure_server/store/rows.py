"""Lists: what a query asks of stored documents, and what a row is made of."""

import logging
from collections.abc import Sequence
from typing import Any, Final

from perdure_server.kernel.workflow import Workflow, WorkflowKey
from perdure_server.ports.store import PageKey, WorkflowQuery, WorkflowRows
from perdure_server.store import documents

log = logging.getLogger(__name__)

Document = dict[str, Any]

# What a row does without: steps, everything that holds a payload, and what only the rules look at.
NOT_IN_ROWS: Final = (
    "steps",
    "packed_steps",
    "input",
    "output",
    "inbox",
    "events",
    "signal_ids",
    "request_ids",
    "past_requests",
    "past_runs",
    "step_queues",
    "wake_secret",
    "failure.details",
)


def filter_of(query: WorkflowQuery, after: PageKey | None = None) -> Document:
    """The filter of a query, or of what follows the row `after`.

    Laid out for the index {namespace, workflow_type, state, start_time, _id} and the one on labels. Business keys are found by `_id`, so a
    query with some names its types, too.
    """
    condition: Document = {"namespace": query.namespace}
    if query.workflow_types:
        condition["workflow_type"] = _one_of(query.workflow_types)
    if query.business_keys and query.include_archived:
        condition["business_key"] = _one_of(query.business_keys)
    elif query.business_keys:
        keys = [WorkflowKey(query.namespace, name, key) for name in query.workflow_types for key in query.business_keys]
        condition["_id"] = {"$in": [key.workflow_id for key in keys]}
    condition["state"] = _one_of(documents.state_names(query))
    if query.fingerprint:
        condition["fingerprint"] = query.fingerprint
    if query.labels:
        condition["labels"] = {"$all": [documents.label(key, value) for key, value in query.labels.items()]}
    times: Document = {}
    if query.start_from is not None:
        times["$gte"] = query.start_from
    if query.start_before is not None:
        times["$lt"] = query.start_before
    if after is not None:
        # The outer bound ends the scan of the index where the page begins; the alternatives divide rows of the same time.
        outer, inner = ("$lte", "$lt") if query.descending else ("$gte", "$gt")
        condition["$and"] = [
            {"start_time": {outer: after.start_time}},
            {"$or": [{"start_time": {inner: after.start_time}}, {"_id": {inner: after.workflow_id}}]},
        ]
    if times:
        condition["start_time"] = times
    return condition


def page(found: Sequence[Document], limit: int, is_whole: bool = True) -> WorkflowRows:
    """The rows of one page from at most `limit` + 1 documents; one that does not decode is left out and told in the log.

    `is_whole` False: the reply was full, and there is more.
    """
    shown = found[:limit]
    last = PageKey(shown[-1]["start_time"], shown[-1]["_id"]) if len(found) > limit or not is_whole else None
    return WorkflowRows(tuple(rows_of(shown)), last)


def rows_of(found: Sequence[Document]) -> list[Workflow]:
    """Those that decode."""
    rows: list[Workflow] = []
    for document in found:
        workflow_id = document["_id"]
        try:
            rows.append(documents.decode(document))
        except (ValueError, KeyError, TypeError, AttributeError):
            log.exception("workflow document %s does not decode and is not listed", workflow_id.hex())
    return rows


def _one_of(values: Sequence[str]) -> object:
    return values[0] if len(values) == 1 else {"$in": list(values)}
