"""Every RPC that takes an etag is refused if it is not that of what is stored, changes nothing then, and is done with the right one."""

from collections.abc import Callable, Iterator
from typing import Any

import grpc
import pytest

from tests.rpc.conftest import Served, refusal_of
from tests.rpc.every_rpc import NOTE, WAITS, ref
from tests.rpc.test_every_rpc import METHODS, call

SCHEDULE = {"schedule_id": "s", "triggers": [{"interval": {"every": "3600s"}}], "start": {"workflow_type": "note"}, "paused": True}
OF_N = {"namespace": "n"}
Made = Callable[[str, dict[str, str]], dict[str, Any]]  # the request with an etag, by the fingerprints


def of_workflow(key: str, workflow_type: str = "note", **fields: Any) -> Made:
    return lambda etag, _known: {**ref(key, workflow_type), "etag": etag, "reason": "tests", **fields}


def of_definition(version: str, **fields: Any) -> Made:
    return lambda etag, known: {"workflow_type": "note", "definition_fingerprint": known[version], "etag": etag, **fields}


# The RPC, its request, and where the etag comes from that it must have.
CASES: list[tuple[str, Made, str, Any]] = [
    ("SetActiveDefinition", of_definition("second"), "second", None),
    ("UpdatePolicy", of_definition("first", steps=[{"step": "a", "policy": {"priority": 7}}]), "first", None),
    ("DeleteDefinition", of_definition("third"), "third", None),
    ("PutNamespace", lambda etag, _: {"namespace": {"namespace": "n", "labels": {"a": "b"}, "etag": etag}}, "ListNamespaces", OF_N),
    ("PutResource", lambda etag, _: {"resource": {"resource": "asr", "capacity": 2, "etag": etag}}, "ListResources", {}),
    ("DeleteResource", lambda etag, _: {"resource": "asr", "etag": etag}, "ListResources", {}),
    ("PutSchedule", lambda etag, _: {"schedule": {**SCHEDULE, "note": "x", "etag": etag}}, "ListSchedules", {}),
    ("DeleteSchedule", lambda etag, _: {"schedule_id": "s", "etag": etag}, "ListSchedules", {}),
    ("PauseWorkflow", of_workflow("k"), "GetWorkflow", ref("k")),
    ("ResumeWorkflow", of_workflow("k"), "GetWorkflow", ref("k")),
    ("UpdateStepOptions", of_workflow("k", update={"step": "b", "policy": {"priority": 8}}), "GetWorkflow", ref("k")),
    ("ResolveStep", of_workflow("w", "waits", step="go", resolution={"pass_over": {}}), "GetWorkflow", ref("w", "waits")),
    ("CancelWorkflow", of_workflow("k"), "GetWorkflow", ref("k")),
    ("ReplayWorkflow", of_workflow("k"), "GetWorkflow", ref("k")),
    ("TerminateWorkflow", of_workflow("k"), "GetWorkflow", ref("k")),
    ("DeleteWorkflow", of_workflow("k"), "GetWorkflow", ref("k")),
]


def takes_etags() -> Iterator[str]:
    """Every RPC whose request has an etag, of its own or in what it puts."""
    for name, method in METHODS.items():
        fields = method.input_type.fields_by_name
        put = fields.get(name.removeprefix("Put").lower()) if name.startswith("Put") else None
        if "etag" in fields or (put is not None and put.message_type is not None and "etag" in put.message_type.fields_by_name):
            yield name


def test_every_rpc_that_takes_one_is_told_of() -> None:
    assert sorted(name for name, *_ in CASES) == sorted(takes_etags())


def found_in(answer: Any) -> str:
    """The first etag in an answer."""
    if isinstance(answer, dict):
        return str(answer["etag"]) if "etag" in answer else next((found for each in answer.values() if (found := found_in(each))), "")
    return next((found for each in answer if (found := found_in(each))), "") if isinstance(answer, list) else ""


async def test_a_stale_etag_is_a_conflict_that_changes_nothing_and_the_current_one_is_taken(served: Served) -> None:
    known: dict[str, str] = {}
    for number, version in enumerate(("first", "second", "third")):
        made = {"definition": {**NOTE, "version": str(number)}, "activate": number == 0}
        known[version] = (await call(served, "RegisterDefinition", made))["definition"]["fingerprint"]
    await call(served, "RegisterDefinition", {"definition": WAITS, "activate": True})
    await call(served, "PutNamespace", {"namespace": {"namespace": "n"}})
    await call(served, "PutResource", {"resource": {"resource": "asr", "capacity": 1}})
    await call(served, "PutSchedule", {"schedule": SCHEDULE})
    await call(served, "StartWorkflow", ref("k"))
    await call(served, "StartWorkflow", ref("w", "waits"))
    for name, made_of, source, asked in CASES:
        read, request = ("GetDefinition", of_definition(source)("", known)) if asked is None else (source, asked)
        request.pop("etag", None)
        current = found_in(await call(served, read, request))
        assert current, name
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await call(served, name, made_of("stale", known))
        found = refusal_of(caught.value)
        assert (found.code, found.reason) == (grpc.StatusCode.ABORTED, "REVISION_CONFLICT"), name
        assert found_in(await call(served, read, request)) == current, name
        await call(served, name, made_of(current, known))
