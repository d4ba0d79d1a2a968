"""Requests that are remembered by their ids, so that a repeat is one.

An entry is `verb:id`, or `verb.digest:id` where the request asks for more than its verb says. Ids are told apart by verb: a script may use
one for a pause and its resume.
"""

from perdure_server.kernel import limits
from perdure_server.kernel.rejection import Reason, Rejection


def is_known(entries: tuple[str, ...], verb: str, request_id: str, content: str = "") -> bool:
    """Whether this request is remembered. Raises Rejection REQUEST_ID_REUSED if its id was used for other content."""
    if not request_id:
        return False
    for entry in reversed(entries):
        head, _, known_id = entry.partition(":")
        known_verb, _, digest = head.partition(".")
        if known_id == request_id and known_verb == verb:
            if digest != content:
                text = "This request_id was used before for a request with other content: make a new one."
                raise Rejection(Reason.REQUEST_ID_REUSED, text, request_id=request_id)
            return True
    return False


def with_request(entries: tuple[str, ...], verb: str, request_id: str, content: str = "") -> tuple[str, ...]:
    """The entries with this request, the newest last; limits.REQUEST_IDS of them. Without an id: as they are."""
    if not request_id:
        return entries
    head = f"{verb}.{content}" if content else verb
    return (*entries[-(limits.REQUEST_IDS - 1) :], f"{head}:{request_id}")
