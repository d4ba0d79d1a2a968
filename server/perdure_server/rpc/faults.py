"""What is wrong with a request: all of it at once, each fault with the path of its field in the proto."""

from collections.abc import Iterable

from perdure_server.kernel.rejection import FieldViolation, Reason


class RequestRefused(FieldViolation):
    """A request with faults. `reason` is theirs if they share one, else INVALID_ARGUMENT; `facts` are of the first fault that has some."""

    def __init__(self, violations: list[tuple[str, str]], reason: Reason, facts: dict[str, str]) -> None:
        super().__init__(violations, reason)
        self.facts = facts


class Faults:
    """Collects faults while a request is decoded; nothing has happened yet when `check` raises them."""

    __slots__ = ("_facts", "_reasons", "_violations")

    def __init__(self) -> None:
        self._violations: list[tuple[str, str]] = []
        self._reasons: set[Reason] = set()
        self._facts: dict[str, str] = {}

    def add(self, field: str, text: str, reason: Reason = Reason.INVALID_ARGUMENT, **facts: str) -> None:
        """Note a fault of `field`; `text` continues the sentence that the field's name begins."""
        self._violations.append((field, text))
        self._reasons.add(reason)
        if facts and not self._facts:
            self._facts = {"field": field, **facts}

    def merge(self, error: FieldViolation, prefix: str = "") -> None:
        """Take over the faults of an error raised elsewhere."""
        self._violations += [(prefix + field, text) for field, text in error.violations]
        self._reasons.add(error.reason)

    def check(self, prefix: str = "") -> None:
        """Raise RequestRefused if there is any fault; `prefix`: of the message that the fields belong to, such as `hello.`."""
        if self._violations:
            violations = [(prefix + field, text) for field, text in self._violations]
            facts = {name: prefix + value if name == "field" else value for name, value in self._facts.items()}
            raise RequestRefused(violations, _common(self._reasons), facts)


def _common(reasons: Iterable[Reason]) -> Reason:
    found = set(reasons)
    return found.pop() if len(found) == 1 else Reason.INVALID_ARGUMENT
