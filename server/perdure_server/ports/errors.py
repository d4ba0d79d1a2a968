"""The errors that adapters may raise; nothing of a driver goes beyond them."""


class StoreError(Exception):
    """The store could not do it; the cause is chained and never shown to a client."""


class StoreUnavailable(StoreError):
    """Not reached, or not in time. The write did not happen, or nobody knows: read again before deciding anything."""


class DocumentTooLarge(StoreError):
    """The store refused the document for its size. Nothing was written."""


class CorruptDocument(StoreError):
    """A stored document does not decode. It has been quarantined; its id is in the log."""


class CoordinationUnavailable(Exception):
    """Redis was not reached, or not in time. Only latency suffers: the sweep finds everything."""
