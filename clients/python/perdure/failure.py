"""Failures of steps, in the author's own words: raised by an activity, read from a workflow."""

from datetime import timedelta

from perdure import limits


class Failure(Exception):
    """Why a step, attempt or workflow did not work.

    Raise it in an activity to choose the words that other languages and retry policies see::

        raise Failure("asr.quota", "no minutes left", retry_after=timedelta(minutes=5))

    Any other exception becomes a Failure of its class's name (`ValueError`, `downstream.asr.QuotaError`).
    """

    def __init__(
        self,
        type: str,  # noqa: A002 -- the wire's name for it
        message: str = "",
        *,
        details: object = None,
        non_retryable: bool = False,
        retry_after: timedelta | None = None,
    ) -> None:
        super().__init__(type, message)
        self.type = type
        """Dotted string, the same in all languages; at most 128 bytes."""
        self.message = message
        """For people; cut at 4 KiB."""
        self.details = details
        """Machine-readable details: any value that JSON can hold. None: none."""
        self.non_retryable = non_retryable
        """Ends the step's attempts at once, whatever its policy says."""
        self.retry_after = retry_after
        """Wish for the time until the next attempt; wins over the policy's back-off. None: by policy."""

    def __str__(self) -> str:
        return f"{self.type}: {self.message}" if self.message else self.type

    def __repr__(self) -> str:
        return f"Failure({self.type!r}, {self.message!r})"

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (self.type, self.message, self.details, self.non_retryable, self.retry_after)


def failure_type(exception: type[BaseException]) -> str:
    """The failure type that an exception class becomes: its qualified name, built-in ones without their module."""
    name = exception.__qualname__ if exception.__module__ == "builtins" else f"{exception.__module__}.{exception.__qualname__}"
    return cut(name, limits.FAILURE_TYPE_BYTES)


def cut(text: str, size: int) -> str:
    """The text, cut so that its UTF-8 form has at most `size` bytes and no broken character."""
    encoded = text.encode(errors="replace")
    return encoded.decode() if len(encoded) <= size else encoded[:size].decode(errors="ignore")


def _rebuild(type_: str, message: str, details: object, non_retryable: bool, retry_after: timedelta | None) -> Failure:
    return Failure(type_, message, details=details, non_retryable=non_retryable, retry_after=retry_after)
