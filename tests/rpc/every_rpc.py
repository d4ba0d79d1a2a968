"""Each RPC of the API with a minimal valid request, in an order in which each finds what it needs.

A request is JSON, or a function of the answers so far (JSON, by RPC; a stream's first). A list is a client's stream.
"""

from collections.abc import Callable, Mapping
from typing import Any

Answers = Mapping[str, Any]
Request = dict[str, Any] | list[Any] | Callable[[Answers], Any]


def ref(key: str, workflow_type: str = "note") -> dict[str, Any]:
    return {"workflow": {"workflow_type": workflow_type, "business_key": key}}


def start(key: str, workflow_type: str = "note") -> dict[str, Any]:
    return {**ref(key, workflow_type), "input": {"json": "1"}}


ACTIVITY = {"name": "a", "activity": {}}
NOTE = {"workflow_type": "note", "steps": [ACTIVITY, {"name": "b", "activity": {}, "depends_on": ["a"]}]}
WAITS = {"workflow_type": "waits", "steps": [{"name": "go", "wait": {"wait": {"any_of": [{"signal": {"signal_name": "go"}}]}}}]}
POOL = {"pool": "p", "workflow_type": "note", "any_contract": True}
FILTER: dict[str, Any] = {"workflow_types": ["waits"]}
WHY = {"reason": "tests", "request_id": "r"}


def token(answers: Answers) -> str:
    token: str = answers["PollClaims"]["claims"][0]["claim_token"]
    return token


def fingerprint(answers: Answers) -> str:
    found: str = answers["RegisterDefinition"]["definition"]["fingerprint"]
    return found


def batch(answers: Answers) -> dict[str, Any]:
    return {"batch_id": answers.get("StartBatch", {}).get("batch", {}).get("batch_id", "none")}


def exported(answers: Answers) -> str:
    chunk: str = answers.get("ExportWorkflow", {}).get("chunk", "")
    return chunk


WALK: list[tuple[str, Request]] = [
    ("GetServerInfo", {}),
    ("PutNamespace", {"namespace": {"namespace": "default"}}),
    ("ListNamespaces", {}),
    ("PutResource", {"resource": {"resource": "asr", "capacity": 1}}),
    ("ListResources", {}),
    ("RegisterDefinition", {"definition": NOTE, "activate": True}),
    ("SetActiveDefinition", lambda answers: {"workflow_type": "note", "definition_fingerprint": fingerprint(answers)}),
    ("UpdatePolicy", {"workflow_type": "note", "steps": [{"step": "a", "policy": {"priority": 7}, "update_mask": "priority"}]}),
    ("GetDefinition", {"workflow_type": "note"}),
    ("ListDefinitions", {}),
    ("TestDefinition", {"definition": NOTE}),
    ("StartWorkflow", start("k")),
    ("StartWorkflows", {"requests": [start("cancelled"), start("terminated"), start("paused")]}),
    ("PollClaims", {"worker_id": "w", "pools": [POOL], "wait_time": "5s"}),
    ("RenewClaims", lambda answers: {"held": [{"claim_token": token(answers)}]}),
    ("Heartbeat", lambda answers: {"claim_token": token(answers), "alive": True}),
    ("Complete", lambda answers: {"claim_token": token(answers), "completed": {}}),
    ("Claim", [{"hello": {"worker_id": "w", "pools": [POOL]}}]),
    ("Watch", ref("k")),
    ("WatchWorkflows", {"filter": {"workflow_types": ["note"]}}),
    ("GetWorkflow", ref("k")),
    ("WaitForResult", {**ref("k"), "timeout": "0.01s"}),
    ("ListWorkflows", {}),
    ("CountWorkflows", {}),
    ("ListRounds", ref("k")),
    ("ListChildren", ref("k")),
    ("ListAttempts", ref("k")),
    ("FetchPayload", {**ref("k"), "payload_id": "0" * 32}),
    ("ExplainWorkflow", ref("k")),
    ("ListQueues", {}),
    ("ListWorkers", {}),
    ("CancelWorkflow", ref("cancelled")),
    ("TerminateWorkflow", ref("terminated")),
    ("ReplayWorkflow", {**ref("terminated"), "request_id": "r"}),
    ("PauseWorkflow", ref("paused")),
    ("ResumeWorkflow", ref("paused")),
    ("Signal", {**ref("waiting", "waits"), "signal_name": "other", "signal_id": "s"}),
    ("ResolveStep", {**ref("waiting", "waits"), "step": "go", "resolution": {"pass_over": {}}, "reason": "tests"}),
    ("UpdateStepOptions", {**ref("k"), "update": {"step": "b", "policy": {"priority": 7}}, "reason": "tests"}),
    ("PauseDefinition", {"workflow_type": "note", "reason": "tests"}),
    ("ResumeDefinition", {"workflow_type": "note"}),
    ("ExportWorkflow", ref("waiting", "waits")),
    (
        "ImportWorkflow",
        lambda answers: [{"options": {"business_key": "copy"}}, {"chunk": exported(answers)}],
    ),
    ("StartBatch", {"filter": FILTER, "operation": {"pause": {}}, "max_per_second": 0.01, **WHY}),
    ("GetBatch", batch),
    ("ListBatches", {}),
    ("StopBatch", lambda answers: {**batch(answers), "reason": "tests"}),
    ("DeleteWorkflow", ref("gone", "waits")),
    ("RedactPayloads", {**ref("waiting", "waits"), **WHY}),
    ("PurgeWorkflows", {"filter": FILTER, **WHY}),
    ("PutSchedule", {"schedule": {"schedule_id": "s", "triggers": [{"interval": {"every": "3600s"}}], "start": {"workflow_type": "note"}}}),
    ("ListSchedules", {}),
    ("TriggerSchedule", {"schedule_id": "s", "request_id": "r"}),
    ("DeleteSchedule", {"schedule_id": "s"}),
    (
        "MigrateWorkflows",
        lambda answers: {
            "workflow_type": "note",
            "from_fingerprint": fingerprint(answers),
            "to_fingerprint": answers["other"],
            "validate_only": True,
        },
    ),
    ("DeleteDefinition", lambda answers: {"workflow_type": "note", "definition_fingerprint": answers["other"]}),
    ("DeleteResource", {"resource": "asr"}),
    ("ListAuditRecords", {}),
    ("ScriptOutcomes", {"workflow_type": "note", "outcomes": [{}]}),
    ("WaitIdle", {"timeout": "0.05s"}),
    ("AdvanceTime", {"by": "60s", "skip_wait_idle": True}),
]

ANSWERED_OTHERWISE = {"FetchPayload": "NOT_FOUND"}
"""Where a minimal request has nothing to find: the code, so that it is seen to be understood."""

NOT_YET: frozenset[str] = frozenset()
"""RPCs that answer UNIMPLEMENTED. Whoever serves one takes it out; nothing is ever put in."""
