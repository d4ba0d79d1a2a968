"""The budget of a workflow's document: what would go over it is refused, and who comes near is named in the log."""

import logging

from perdure_server.engine.subject import about
from perdure_server.kernel import limits
from perdure_server.kernel.workflow import Workflow, WorkflowState
from perdure_server.ports.errors import DocumentTooLarge

logger = logging.getLogger(__name__)


def check_budget(base: Workflow | None, sealed: Workflow) -> None:
    """Raise DocumentTooLarge for what would go over. What ends a workflow, and what makes it smaller, always has room."""
    if sealed.inline_bytes <= limits.DOCUMENT - limits.DOCUMENT_RESERVE or sealed.state is not WorkflowState.RUNNING:
        return
    if base is None or sealed.inline_bytes > base.inline_bytes:
        raise DocumentTooLarge(f"{sealed.inline_bytes} bytes of payloads")


def warn_if_near(base: Workflow | None, stored: Workflow) -> None:
    """One line for the write that takes a workflow over the warning's mark."""
    before = base.inline_bytes if base is not None else 0
    if before < limits.DOCUMENT_WARNING <= stored.inline_bytes:
        facts = (stored.inline_bytes, limits.DOCUMENT - limits.DOCUMENT_RESERVE)
        logger.warning(
            "a workflow's document nears its budget: %d bytes of payloads; from %d on signals are refused",
            *facts,
            extra=about(stored),
        )
