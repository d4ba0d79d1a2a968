"""What the doors say of files that they cannot use."""

from collections.abc import Sequence


class DoorsInvalid(Exception):
    """What should guard the doors cannot be used; each line of the message is one fault, and none holds a secret."""

    def __init__(self, faults: Sequence[str]) -> None:
        super().__init__("\n".join(faults))
        self.faults = tuple(faults)
