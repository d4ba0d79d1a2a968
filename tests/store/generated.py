"""Instances made of generated values: whatever the kernel's types allow, the store must give back."""

import string
from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st
from msgspec.structs import replace

from perdure_server.kernel import limits
from perdure_server.kernel.child_state import ChildError, Children, Parent
from perdure_server.kernel.definition import Exhaustion, Permit, StepDefinition, StepOptions
from perdure_server.kernel.values import Failure, LossCause, Payload, PayloadRef, RetryPolicy, Trace, Wake
from perdure_server.kernel.workflow import (
    AttemptError,
    Claim,
    Duty,
    DutyKind,
    Event,
    HeldPermit,
    OpenCondition,
    PastRequest,
    Paused,
    Settled,
    Signal,
    Step,
    StepState,
    Throttle,
    Tombstone,
    Workflow,
    WorkflowKey,
    WorkflowState,
)

texts = st.text(max_size=8)
names = st.text(string.ascii_lowercase + string.digits + "_", min_size=1, max_size=6).map(lambda text: f"s{text}")
numbers = st.integers(0, 2**31) | st.integers(-(2**63), 2**63 - 1)
times = st.integers(0, limits.TIME)
blobs = st.binary(max_size=8)
metadata = st.dictionaries(texts | st.sampled_from(["$set", "a.b", "", "\x00"]), blobs, max_size=2)

_described = {"content_type": texts, "encoding": texts, "digest": texts, "metadata": metadata}
payloads = (
    st.builds(Payload, json=texts, **_described)
    | st.builds(Payload, binary=blobs, **_described)
    | st.builds(Payload, ref=st.builds(PayloadRef, texts, numbers), **_described)
)
failures = st.builds(Failure, texts, texts, st.none() | payloads, st.booleans(), st.none() | numbers)


def rows(values: st.SearchStrategy[Any], most: int = 2) -> st.SearchStrategy[tuple[Any, ...]]:
    """A tuple of a few."""
    return st.lists(values, max_size=most).map(tuple)


step_options = st.builds(
    StepOptions,
    rows(names),
    st.builds(
        StepDefinition,
        names,
        queue=texts,
        retry=st.builds(RetryPolicy, st.none() | numbers, numbers),
        on_exhausted=st.sampled_from(Exhaustion),
        permits=rows(st.builds(Permit, texts, numbers)),
        priority=st.none() | numbers,
    ),
)
settled = st.builds(Settled, texts, blobs, st.sampled_from(LossCause), rows(st.tuples(names, numbers)))
children = st.builds(
    Children,
    audit=times,
    total=numbers,
    known=st.booleans(),
    cursor=numbers,
    made=numbers,
    open=rows(numbers),
    completed=numbers,
    failed=numbers,
    cancelled=numbers,
    errors=rows(st.builds(ChildError, numbers, texts, texts)),
    tries=numbers,
    page=st.none() | payloads,
    page_start=numbers,
    page_cursor=st.none() | payloads,
    told=times,
    over=st.booleans(),
)
permits = st.builds(HeldPermit, texts, numbers, texts, numbers, st.booleans())
STEP_FIELDS: Mapping[str, st.SearchStrategy[Any]] = {
    "state": st.sampled_from(StepState),
    "since": times,
    "generation": numbers,
    "claim_no": numbers,
    "attempt": numbers,
    "started": st.none() | times,
    "ended": st.none() | times,
    "claim": st.none() | st.builds(Claim, texts, texts, times, times, texts, numbers, st.booleans(), texts, rows(permits)),
    "due": st.none() | times,
    "wait": rows(st.builds(OpenCondition, texts, texts, numbers, st.none() | times)),
    "wakes": rows(st.builds(Wake, texts, texts, st.none() | payloads)),
    "output": st.none() | payloads,
    "checkpoint": st.none() | payloads,
    "checkpoint_no": numbers,
    "checkpoint_claim_no": numbers,
    "failure": st.none() | failures,
    "errors": rows(st.builds(AttemptError, numbers, numbers, times, failures, texts)),
    "lost_claims": numbers,
    "idle_returns": numbers,
    "waits": numbers,
    "failures": numbers,
    "releases": numbers,
    "undelivered": numbers,
    "settled": rows(settled),
    "last_frame_seq": st.none() | numbers,
    "end_seq": numbers,
    "step_deadline": st.none() | times,
    "step_left": st.none() | numbers,
    "skipped_by": texts,
    "skip_spreads": st.booleans(),
    "chosen": rows(texts),
    "compensates": texts,
    "in_doubt": st.booleans(),
    "total_attempts": numbers,
    "children": st.none() | children,
    "throttled": st.none() | st.builds(Throttle, texts, times, texts),
    "queue_left": st.none() | numbers,
    "permit_waits": numbers,
    "permit_wait_time": numbers,
}
steps = st.builds(Step, **STEP_FIELDS)
events = st.builds(Event, numbers, times, texts, numbers, texts, numbers, numbers, st.none() | numbers, texts, texts)
signals = st.builds(Signal, texts, texts, times, st.none() | payloads)

FIELDS: Mapping[str, st.SearchStrategy[Any]] = {
    "run_id": st.text("0123456789abcdef", min_size=24, max_size=24),
    "round": numbers,
    "fence": numbers,
    "revision": numbers,
    "state": st.sampled_from(WorkflowState),
    "update_time": times,
    "start_time": times,
    "fingerprint": texts,
    "steps": st.dictionaries(names, steps, max_size=4),
    "remaining": numbers,
    "step_count": st.sampled_from([4, 64, 65, 300]),
    "trace": st.builds(Trace, texts, texts, texts, numbers, texts),
    "policy_revision": numbers,
    "wake_secret": texts,
    "input": st.none() | payloads,
    "input_digest": blobs,
    "request_ids": rows(texts),
    "output": st.none() | payloads,
    "failure": st.none() | failures,
    "failed_step": texts,
    "end_time": st.none() | times,
    "deadline": st.none() | times,
    "start_at": st.none() | times,
    "grace_deadline": st.none() | times,
    "cancel_reason": texts,
    "cancel_actor": texts,
    "cancel_request_id": texts,
    "cancel_time": st.none() | times,
    "paused": st.none() | st.builds(Paused, times, texts, texts),
    "actions": rows(texts),
    "passed_hooks": rows(names),
    "reopen": rows(names),
    "replays": numbers,
    "past_requests": rows(st.builds(PastRequest, texts, st.integers(1, 9), blobs)),
    "timeout": st.none() | times,
    "past_runs": rows(texts),
    "tombstone": st.none() | st.builds(Tombstone, times, st.booleans()),
    "archived": st.just(False),  # test_an_archived_round_has_an_id_of_its_own
    "inert": st.booleans(),
    "duties": rows(st.builds(Duty, st.sampled_from(DutyKind), st.integers(1, 9), times, st.integers(0, 9), texts)),
    "parent": st.none() | st.builds(Parent, texts, texts, numbers, texts, texts, numbers, numbers, st.booleans(), numbers),
    "labels": st.dictionaries(texts | st.sampled_from(["=", "%3D", "a=b"]), texts, max_size=3),
    "priority": numbers,
    "queue": texts,
    "step_queues": st.dictionaries(names, texts, max_size=2),
    "step_options": st.dictionaries(names, step_options, max_size=2),
    "fairness_key": texts,
    "schedule_id": texts,
    "fairness_weight": st.floats(0.001, 1_000),
    "retention": numbers,
    "inbox": rows(signals),
    "signal_ids": rows(texts),
    "signals_received": numbers,
    "events": rows(events),
    "event_seq": numbers,
    "eager_row": numbers,
    "inline_bytes": numbers,
    "wake_time": st.none() | times,
    "ready": rows(texts),
    "sessions": rows(texts),
    "expire_time": st.none() | times,
}

workflows = st.builds(Workflow, key=st.builds(WorkflowKey, texts, texts, texts), **FIELDS)


@st.composite
def changes(draw: st.DrawFn) -> tuple[Workflow, Workflow]:
    """An instance, and the same after some fields and some steps changed; the rest keeps its identity, as the kernel keeps it."""
    old = draw(workflows)
    chosen = draw(st.sets(st.sampled_from([name for name in FIELDS if name != "steps"]), max_size=6))
    changed = {name: draw(FIELDS[name]) for name in chosen}
    kept = draw(st.sets(st.sampled_from(sorted(old.steps)))) if old.steps else set()
    steps_now = {name: step for name, step in old.steps.items() if name in kept} | draw(FIELDS["steps"])
    return old, replace(old, steps=steps_now, **changed)
