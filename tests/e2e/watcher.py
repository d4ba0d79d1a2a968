"""What a watcher saw, over as many streams as it took."""

from perdure.v1 import watch_pb2, workflow_pb2, workflow_service_pb2
from tests.e2e.channels import Perdure


class Watched:
    """`follow` goes on where the last stream ended. `changes` begins with the number of the snapshot that it was given."""

    def __init__(self) -> None:
        self.token = ""
        self.changes: list[int] = []
        self.frames: list[tuple[str, int, int]] = []
        self.gaps = 0
        self.ended = workflow_pb2.Workflow.STATE_UNSPECIFIED

    @property
    def missing(self) -> list[int]:
        """Changes that were not told, or were told out of order, or twice."""
        expected = range(self.changes[0], self.changes[0] + len(self.changes))
        return [seq for seq, told in zip(expected, self.changes, strict=True) if seq != told]

    async def follow(self, watcher: Perdure, workflow: workflow_pb2.WorkflowRef, frames: int = 0) -> None:
        """Read until that many frames have been seen, the end has come, or the stream breaks. Raises AioRpcError."""
        request = workflow_service_pb2.WatchRequest(
            workflow=workflow, resume_token=self.token, include_frames=frames > 0 or bool(self.frames)
        )
        async for answer in watcher.workflows.Watch(request, timeout=60):
            for event in answer.events:
                self._see(event)
            if frames and len(self.frames) >= frames:
                return

    def _see(self, event: watch_pb2.WatchEvent) -> None:
        self.token = event.resume_token
        match event.WhichOneof("event"):
            case "snapshot":
                self.changes = [event.snapshot.last_change_seq]
            case "change":
                self.changes.append(event.change.seq)
            case "frame":
                self.frames.append((event.frame.step, event.frame.claim_no, event.frame.seq))
            case "gap":
                self.gaps += 1
            case "end":
                self.ended = event.end.state
            case _:
                pass
