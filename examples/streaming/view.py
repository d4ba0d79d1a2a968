"""What a reader has seen so far. It is kept together with the place in the stream, so the two can never disagree."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from perdure import End, Event, Frame, FramesReset, Gap, WorkflowState


@dataclass
class View:
    """The text, and the token that goes on behind it."""

    text: str = ""
    resume_token: str = ""
    ended: bool = False

    def show(self, event: Event) -> str:
        """Take an event in; gives what to print for it."""
        self.resume_token = event.resume_token
        match event:
            case Frame(kind="TEXT"):
                self.text += event.text
                return event.text
            case FramesReset():  # the attempt that said this has failed: what it said is void
                self.text = ""
                return "\n--- the attempt is over; from the beginning:\n"
            case Gap(frames=True):  # lost with Redis, or we were away for longer than frames are kept
                return "[...] "
            case End():
                self.ended = True
                if event.state is WorkflowState.COMPLETED:  # the frames were a preview, this is the result
                    self.text = event.output(str)
                return f"\n--- {event}\n"
            case _:
                return ""

    def save(self, path: Path) -> None:
        """Both at once: a kill leaves the old view or the new one."""
        part = path.with_suffix(".part")
        part.write_text(json.dumps(asdict(self)))
        part.replace(path)

    @classmethod
    def load(cls, path: Path) -> "View":
        return cls(**json.loads(path.read_text())) if path.exists() else cls()
