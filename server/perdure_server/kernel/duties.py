"""Duties: what a stored change asks to be done outside of its document. They are stored with their cause, and forgotten only when done."""

from msgspec.structs import replace

from perdure_server.kernel import limits
from perdure_server.kernel.draft import Draft
from perdure_server.kernel.effects import DutyTaken
from perdure_server.kernel.workflow import Duty, DutyKind


def take_duty(draft: Draft, kind: DutyKind, subject: str = "", number: int | None = None) -> bool:
    """Take a duty on, with this change, for the round `number` (None = this one). False = the document has it already."""
    duty = Duty(kind, draft.workflow.round if number is None else number, draft.now + limits.DUTY_RETRY_FIRST, subject=subject)
    known = draft.get("duties", draft.workflow.duties)
    if any(other.name == duty.name for other in known):
        return False
    draft.set(duties=(*known, duty))
    draft.effects.append(DutyTaken(duty))
    return True


def duty_done(draft: Draft, duty: Duty) -> bool:
    """Forget a duty that is done. False = it was forgotten before."""
    known = draft.get("duties", draft.workflow.duties)
    left = tuple(other for other in known if other.name != duty.name)
    if len(left) == len(known):
        return False
    draft.set(duties=left)
    return True


def duty_failed(draft: Draft, duty: Duty) -> bool:
    """Try again later: after 1 s, doubling to 1 min. False = it is done, or somebody else has tried it since."""
    known = draft.get("duties", draft.workflow.duties)
    if duty not in known:
        return False
    pause = min(limits.DUTY_RETRY_FIRST * 2 ** min(duty.tries, limits.DUTY_DOUBLINGS), limits.DUTY_RETRY_CAP)
    later = replace(duty, due=draft.now + pause, tries=duty.tries + 1)
    draft.set(duties=tuple(later if other == duty else other for other in known))
    return True
