"""WorkflowService: decode, ask the engine, encode. RPCs that are not here answer NOT_IMPLEMENTED."""

import asyncio
from collections.abc import Sequence
from typing import cast

from perdure.v1 import workflow_pb2
from perdure.v1 import workflow_service_pb2 as wire
from perdure_server.engine.child_list import ChildList
from perdure_server.engine.service import Engine
from perdure_server.engine.signal_check import check_signal
from perdure_server.kernel import limits
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.kernel.workflow import Paused
from perdure_server.rpc import children, page_tokens, rounds
from perdure_server.rpc import limits as rpc_limits
from perdure_server.rpc.caller import caller_of
from perdure_server.rpc.decode import filters, verbs
from perdure_server.rpc.decode import workflows as decode
from perdure_server.rpc.encode import attempts, explanations, lists, people, values, workflows
from perdure_server.rpc.errors import to_status
from perdure_server.rpc.faults import Faults
from perdure_server.rpc.guard import resource_name
from perdure_server.rpc.leaving import Leaving
from perdure_server.rpc.trace_context import Metadata, workflow_trace
from perdure_server.rpc.transport import Context
from perdure_server.rpc.watch_many_stream import watch_many
from perdure_server.rpc.watch_stream import watch


class WorkflowService:
    """What business services, people and consoles call."""

    descriptor = wire.DESCRIPTOR.services_by_name["WorkflowService"]

    def __init__(self, engine: Engine, leaving: Leaving, sample_ratio: float) -> None:
        self._engine = engine
        self._leaving = leaving
        self._sample_ratio = sample_ratio
        self._child_list = ChildList(engine.store.workflows, engine.queries)

    async def start_workflow(self, request: wire.StartWorkflowRequest, context: Context) -> wire.StartWorkflowResponse:
        """Accept a piece of work once per business key."""
        return await self._start(request, context.invocation_metadata() or ())

    async def start_workflows(self, request: wire.StartWorkflowsRequest, context: Context) -> wire.StartWorkflowsResponse:
        """Several starts, each on its own; those of one key in order, the others at once."""
        _check_starts(len(request.requests))
        metadata = tuple(context.invocation_metadata() or ())
        response = wire.StartWorkflowsResponse()
        by_key: dict[tuple[str, str, str], list[tuple[wire.StartWorkflowRequest, wire.StartWorkflowResult]]] = {}
        for item in request.requests:
            ref = item.workflow
            by_key.setdefault((ref.namespace, ref.workflow_type, ref.business_key), []).append((item, response.results.add()))
        async with asyncio.TaskGroup() as tasks:
            for group in by_key.values():
                tasks.create_task(self._start_group(group, metadata))
        return response

    async def signal(self, request: wire.SignalRequest, _context: Context) -> wire.SignalResponse:
        """Store a signal, then wake what waits for it."""
        target, signal = decode.signal(request)
        if request.validate_only:
            return workflows.signalled(await check_signal(self._engine, target, signal))
        return workflows.signalled(await self._engine.signal(target, signal))

    async def watch(self, request: wire.WatchRequest, context: Context) -> None:
        """A snapshot, then changes and frames, until the end."""
        await watch(self._engine, self._leaving, request, context)

    async def watch_workflows(self, request: wire.WatchWorkflowsRequest, context: Context) -> None:
        """The same for many workflows by filter, without frames."""
        await watch_many(self._engine, self._leaving, request, context)

    async def get_workflow(self, request: wire.GetWorkflowRequest, _context: Context) -> wire.GetWorkflowResponse:
        """One workflow, always fresh."""
        detail = request.view or workflow_pb2.WORKFLOW_VIEW_FULL
        view = await self._engine.get(decode.look(request), detail == workflow_pb2.WORKFLOW_VIEW_FULL)
        response = wire.GetWorkflowResponse()
        workflows.workflow(response.workflow, view, detail)
        return response

    async def wait_for_result(self, request: wire.WaitForResultRequest, context: Context) -> wire.WaitForResultResponse:
        """Wait for the end, for a while."""
        ref, timeout = decode.result_wait(request)
        async with self._leaving.cut_short():
            view = await self._engine.wait_for_result(ref, within_deadline(timeout, context))
        return workflows.result(view)

    async def list_workflows(self, request: wire.ListWorkflowsRequest, _context: Context) -> wire.ListWorkflowsResponse:
        """Workflows by filter, in pages."""
        selection, size, detail = filters.list_query(request)
        found = await self._engine.listing.page(selection, size, page_tokens.decode(selection, request.page_token), detail)
        response = wire.ListWorkflowsResponse()
        response.next_page_token = page_tokens.encode(selection, lists.fill(response.workflows, found, detail))
        return response

    async def count_workflows(self, request: wire.CountWorkflowsRequest, _context: Context) -> wire.CountWorkflowsResponse:
        """How many match, counted up to a bound."""
        return await lists.count(self._engine.listing, filters.count_query(request), request.group_by)

    async def list_rounds(self, request: wire.ListRoundsRequest, _context: Context) -> wire.ListRoundsResponse:
        """The rounds of one key that are kept, newest first."""
        key, size, detail = filters.rounds(request)
        return await rounds.page(self._engine, key, size, detail, request.page_token)

    async def fetch_payload(self, request: wire.FetchPayloadRequest, _context: Context) -> wire.FetchPayloadResponse:
        """A value that did not fit into a message."""
        response = wire.FetchPayloadResponse()
        holder = decode.payload_holder(request)
        if isinstance(holder, str):
            # What a token says of itself is no secret but for its nonce: only the current one opens anything.
            await self._engine.inspect(holder)
        values.payload(response.payload, await self._engine.fetch_payload(holder, request.payload_id))
        return response

    async def cancel_workflow(self, request: wire.CancelWorkflowRequest, context: Context) -> wire.CancelWorkflowResponse:
        """Ask for a cancel."""
        ref = decode.cancel(request)
        return workflows.cancelled(
            await self._engine.cancel(ref, request.reason, request.request_id, request.etag, caller_of(context).actor)
        )

    async def terminate_workflow(self, request: wire.TerminateWorkflowRequest, _context: Context) -> wire.TerminateWorkflowResponse:
        """End at once: tokens fenced, no hooks."""
        ref, conditions = verbs.conditional(request)
        return people.terminated(await self._engine.people.terminate(ref, request.reason, conditions))

    async def pause_workflow(self, request: wire.PauseWorkflowRequest, context: Context) -> wire.PauseWorkflowResponse:
        """Grant no more claims."""
        ref, conditions = verbs.conditional(request)
        return people.paused(await self._engine.people.pause(ref, Paused(0, caller_of(context).actor, request.reason), conditions))

    async def resume_workflow(self, request: wire.ResumeWorkflowRequest, _context: Context) -> wire.ResumeWorkflowResponse:
        """End a pause."""
        ref, conditions = verbs.conditional(request)
        return people.resumed(await self._engine.people.resume(ref, conditions))

    async def replay_workflow(self, request: wire.ReplayWorkflowRequest, _context: Context) -> wire.ReplayWorkflowResponse:
        """Reopen what did not complete."""
        ref, conditions = verbs.conditional(request)
        return people.replayed(await self._engine.people.replay(ref, tuple(request.reopen_steps), conditions))

    async def delete_workflow(self, request: wire.DeleteWorkflowRequest, _context: Context) -> wire.DeleteWorkflowResponse:
        """Remove an ended workflow."""
        ref, conditions = verbs.conditional(request)
        return people.deleted(*await self._engine.remove(ref, conditions), ref.round)

    async def list_children(self, request: wire.ListChildrenRequest, _context: Context) -> wire.ListChildrenResponse:
        """The children of map and child steps, by step and index."""
        return await children.list_children(self._child_list, request)

    async def list_attempts(self, request: wire.ListAttemptsRequest, _context: Context) -> wire.ListAttemptsResponse:
        """The attempts that are remembered, newest first."""
        ref, step, size = verbs.attempts(request)
        view = await self._engine.get(ref, with_payloads=False)
        return attempts.response(view, step, size, request)

    async def explain_workflow(self, request: wire.ExplainWorkflowRequest, _context: Context) -> wire.ExplainWorkflowResponse:
        """Why a workflow is where it is."""
        return explanations.response(await self._engine.explain(*verbs.explain(request)))

    async def _start(self, request: wire.StartWorkflowRequest, metadata: Metadata) -> wire.StartWorkflowResponse:
        entropy = self._engine.entropy
        command = decode.start(request, workflow_trace(metadata, self._sample_ratio, entropy), entropy)
        try:
            started = await self._engine.start(command, request.definition_fingerprint, request.validate_only)
        except Rejection as error:
            if error.reason is Reason.DEFINITION_NOT_FOUND and not request.definition_fingerprint:
                raise _no_active_definition(error) from error
            raise
        response = wire.StartWorkflowResponse()
        workflows.started(response, started)
        return response

    async def _start_group(self, group: Sequence[tuple[wire.StartWorkflowRequest, wire.StartWorkflowResult]], metadata: Metadata) -> None:
        for request, result in group:
            try:
                result.response.CopyFrom(await self._start(request, metadata))
            except Exception as error:  # noqa: BLE001 -- one start that fails must not touch the others; to_status logs what is a bug
                result.status.CopyFrom(to_status(error, resource_name(request)))


def within_deadline(wait: int, context: Context) -> int:
    """`wait` in ms, shortened so that the answer still reaches a caller with a deadline."""
    remaining = cast("float | None", context.time_remaining())  # None without a deadline, whatever the stubs say
    if remaining is None:
        return wait
    return max(0, min(wait, round(remaining * limits.SECOND) - rpc_limits.ANSWER_MARGIN))


def _check_starts(count: int) -> None:
    faults = Faults()
    if not 1 <= count <= limits.STARTS_PER_CALL:
        faults.add("requests", f"must have 1 to {limits.STARTS_PER_CALL} entries")
    faults.check()


def _no_active_definition(error: Rejection) -> Rejection:
    command = "perdure definitions apply FILE --activate"
    return Rejection(error.reason, f"{error.message.rstrip('.')}. To put it right: {command}", **{**error.facts, "command": command})
