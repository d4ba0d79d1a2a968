"""Settings of the demo: its numbers with a unit, and the few environment variables that it reads, once."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

SMALLEST_BYTES = 3_000
"""A file below that has nothing to summarise."""
LARGEST_BYTES = 900_000
"""A step's output travels to the next one; the largest document that comes with Python, its language reference, has 760,000."""

PUBLISH_WAIT_SECONDS = 5.0
"""How long a document waits for somebody to press `publish` before it is published anyway."""
LEASE_SECONDS = 6.0
"""Session lease on Perdure, and age at which the old way's reaper takes a row for dead: the same for both."""
DEFAULT_LEASE_SECONDS = 30.0
"""Perdure's session lease if nobody sets one."""
RESTART_SECONDS = 1.0
"""How long after its end a process is started again, as a service manager does."""
POLL_SECONDS = 0.001
"""How often the log is read while a kill waits for its moment."""
LOOK_SECONDS = 0.05
"""How often everything else is looked at that is waited for."""
AGE_SECONDS = 0.1
"""How long a step has run when its worker is killed: it is in its middle, and the worker has said that it has it (after 20 ms)."""
AIM_SECONDS = 60.0
"""How long a kill waits for its moment before it has missed, and a process may take to come up."""
LONGEST_SECONDS = 120.0
"""How long what was handed in may take after the last kill, before what is missing counts as lost."""
LIMIT_SECONDS = 300.0
"""How long the whole job may take on Perdure unless the reader does the killing: far beyond what it needs on a busy machine."""
PACE_BY_HAND_SECONDS = 1.0
"""KILL=me only: how long each step holds its place before its work, so that a person has time to aim."""
PACE_OWN_SECONDS = 0.2
"""DOCS only: the same, so that a kill can meet a step of documents that are small."""
INDEX_BUSY_SECONDS = 20.0
"""How long a writer of the index waits for another one."""

MILLISECONDS = 1000  # in a second

SETUP_AIM_SECONDS = 120
RUN_AIM_SECONDS = 60


@dataclass(frozen=True)
class Settings:
    """What the reader asked for."""

    directory: Path | None = None
    """DOCS: documents of one's own instead of those that came with the installation."""
    kill_by_hand: bool = False
    """KILL=me: prints the pids and lets the reader do the killing."""
    keep: bool = False
    """KEEP=1: leaves everything running at the end, with lines to try."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """What the store and Redis are started with: PATH finds them."""

    @property
    def pace_seconds(self) -> float:
        """How long each step holds its place before its work; 0 unless the reader aims, or the documents are of unknown size."""
        if self.kill_by_hand:
            return PACE_BY_HAND_SECONDS
        return 0.0 if self.directory is None else PACE_OWN_SECONDS


def from_environment() -> Settings:
    """Reads DOCS, KILL and KEEP; ends the program with a sentence if one of them cannot be meant."""
    environment = os.environ
    directory, kill, keep = environment.get("DOCS", ""), environment.get("KILL", ""), environment.get("KEEP", "")
    if directory and not Path(directory).is_dir():
        sys.exit(f"DOCS={directory}: there is no such directory")
    if kill not in {"", "me"}:
        sys.exit(f"KILL={kill}: leave it out, or say KILL=me to do the killing yourself")
    if keep not in {"", "0", "1"}:
        sys.exit(f"KEEP={keep}: leave it out, or say KEEP=1 to leave everything running")
    return Settings(Path(directory).resolve() if directory else None, kill == "me", keep == "1", dict(environment))


def setup_seconds() -> float | None:
    """How long the set-up of this environment took, if `make setup` left it beside the interpreter."""
    path = Path(sys.prefix) / "perdure-setup-seconds"
    return float(path.read_text()) if path.is_file() else None
