"""A feed: which workflows changed since somebody last looked, each once, whatever happened to it meanwhile."""

import asyncio
from collections.abc import Mapping

from perdure_server.kernel.workflow import Workflow


class Feed:
    """What one watcher of many has still to look at. Bounded: over `most` entries it only says that something was missed."""

    def __init__(self, most: int) -> None:
        self.news = asyncio.Event()
        self._most = most
        self._changed: dict[bytes, Workflow | None] = {}
        self._missed = False

    def changed(self, workflow: Workflow) -> None:
        """This server stored a change."""
        self._note(workflow.workflow_id, workflow)

    def heard(self, workflow_id: bytes) -> None:
        """Another server changed it, or it was removed: to be read."""
        self._note(workflow_id, None)

    def missed(self) -> None:
        """Changes may have gone unheard."""
        self._missed = True
        self._changed.clear()
        self.news.set()

    def take(self) -> tuple[Mapping[bytes, Workflow | None], bool]:
        """(the newest of each, None = to be read; whether something was missed). What comes from now on is news again."""
        found, missed = self._changed, self._missed
        self._changed, self._missed = {}, False
        self.news.clear()
        return found, missed

    def _note(self, workflow_id: bytes, workflow: Workflow | None) -> None:
        if self._missed:
            return
        if len(self._changed) >= self._most and workflow_id not in self._changed:
            self.missed()
            return
        self._changed[workflow_id] = workflow
        self.news.set()
