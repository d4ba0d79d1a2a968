"""The one module that imports a MongoDB driver: Motor, or PyMongo's asyncio API. Everything else sends commands through `Connection`.

Only `database.command` is used, which both drivers share and which takes read and write concerns from the command alone: what the URI says
about them has no effect. Timeouts, retries and the primary are pinned here for the same reason (cases C66).
"""

import asyncio
import inspect
import logging
import time
from collections.abc import Awaitable, Mapping, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final, Literal, Protocol

import bson
from bson.codec_options import CodecOptions
from bson.raw_bson import RawBSONDocument
from motor.motor_asyncio import AsyncIOMotorClient
from pymongo import AsyncMongoClient
from pymongo.errors import (
    AutoReconnect,
    ConfigurationError,
    ConnectionFailure,
    ExecutionTimeout,
    InvalidURI,
    NetworkTimeout,
    NotPrimaryError,
    OperationFailure,
    PyMongoError,
    ServerSelectionTimeoutError,
    WaitQueueTimeoutError,
)
from pymongo.read_concern import ReadConcern
from pymongo.uri_parser import parse_uri

from perdure_server.kernel.limits import SECOND
from perdure_server.ports.errors import StoreError, StoreUnavailable
from perdure_server.ports.instruments import DATABASE_TIME
from perdure_server.ports.telemetry import SILENCE, Meter
from perdure_server.store import limits

log = logging.getLogger(__name__)

# At DEBUG the driver tells whole commands, payloads and all. Whoever sets the root logger to DEBUG has not asked for that.
logging.getLogger("pymongo.command").setLevel(logging.INFO)

Driver = Literal["motor", "pymongo"]
Document = dict[str, Any]
Session = Any  # the driver's: opaque to everything else

MAJORITY: Final[Mapping[str, Any]] = {"w": "majority", "j": True, "wtimeout": limits.WRITE_TIMEOUT_MS}

# In the URI these contradict a promise; the rest of the pinned ones are only numbers.
_CONTRADICTING: Final = ("w", "journal", "readpreference", "readpreferencetags", "maxstalenessseconds", "readconcernlevel", "retrywrites")

# The server's word that the command may or may not have been done, or that another server must be asked: unreachable hosts, limits of
# locks, network and time, write conflicts, shutdown, step-down, killed operations, rate limits.
_UNAVAILABLE_CODES: Final = frozenset(
    {6, 7, 24, 50, 64, 89, 91, 112, 134, 175, 189, 202, 237, 262, 290, 317, 384, 462, 9001, 10058, 10107, 11600, 11601, 11602, 13435, 13436}
)
COMMAND_NOT_FOUND: Final = 59
DUPLICATE_KEY: Final = 11000
_COMMIT_UNANSWERED: Final = "the commit of a batch was not answered"
_RAW: Final = CodecOptions(document_class=RawBSONDocument)


class _Database(Protocol):
    def command(self, command: MutableMapping[str, Any], **options: Any) -> Awaitable[Any]: ...


class Connection:
    """One client of one database. `command` is all that the adapters may use."""

    def __init__(self, url: str, database: str, driver: Driver = "motor", meter: Meter = SILENCE) -> None:
        """Raises StoreError when the URL is not one; connects at the first command."""
        self.meter = meter
        self.database = database
        self.driver = driver
        options = _pinned()
        try:
            _warn_of_contradictions(url)
            self._client: Any = AsyncIOMotorClient(url, **options) if driver == "motor" else AsyncMongoClient(url, **options)
        except (InvalidURI, ConfigurationError, ValueError, TypeError) as error:
            raise StoreError("the MongoDB URL cannot be used: it must be mongodb:// or mongodb+srv:// with valid options") from error
        self._database: Any = self._client[database]
        self._admin: Any = self._client["admin"]
        # Motor's commands wait in threads, which end with this object, not with `close`: so the driver refuses what comes after that.
        self._threads = ThreadPoolExecutor(limits.CONNECTIONS, "store") if driver == "motor" else None

    async def command(self, command: Document) -> Document:
        """Sends one command to the database and returns its reply. Raises StoreUnavailable (result unknown) or StoreError (refused)."""
        return await self._measured(self._database, command)

    async def admin_command(self, command: Document) -> Document:
        """The same on the admin database."""
        return await self._measured(self._admin, command)

    async def read(self, command: Document) -> Document:
        """A command that changes nothing: sent a second time when the first met a broken connection or a server that is primary no more.

        Raises StoreUnavailable, StoreError, and bson.errors.InvalidBSON when one of the documents does not decode.
        """
        try:
            return await self.command(command)
        except StoreUnavailable as error:
            # A second wait for a server that is silent, or that nobody finds, would only take the caller's time.
            if not isinstance(error.__cause__, AutoReconnect) or isinstance(error.__cause__, NetworkTimeout | ServerSelectionTimeoutError):
                raise
            return await self.command(command)

    async def read_raw(self, command: Document) -> list[bytes]:
        """The first batch of a cursor as undecoded documents, for finding the one that does not decode."""
        try:
            reply = await self._database.command(command, codec_options=_RAW)
        except (PyMongoError, OSError) as error:
            raise translate(error) from error
        return [document.raw for document in reply["cursor"]["firstBatch"]]

    async def _measured(self, database: Any, command: Document) -> Document:
        begun = time.perf_counter()
        failed = ""
        try:
            if self._threads is None:
                reply: Document = await database.command(command)
            else:
                reply = await asyncio.get_running_loop().run_in_executor(self._threads, database.delegate.command, command)
        except (PyMongoError, OSError) as error:
            failed = type(error).__name__
            raise translate(error) from error
        finally:
            took = (time.perf_counter() - begun) * SECOND
            self.meter.record(DATABASE_TIME, took, ("mongodb", next(iter(command)), failed))
        return reply

    async def new_session(self) -> Session:
        """A session for transactions, one at a time; `session_id` names it to the server."""
        # Causally consistent, its second transaction would name a read concern, which bulkWrite refuses.
        session = self._client.start_session(causal_consistency=False)
        started: Session = await session if inspect.isawaitable(session) else session
        return started

    async def transaction(self, session: Session, command: Document) -> Document:
        """Sends one command in a transaction of its own, and commits it if the reply tells of no error.

        Raises TransactionUndoneError: the server refused it, nothing of it is stored, and the session is free again; StoreUnavailable or
        StoreError: unknown, and the transaction may still be open there.
        """
        try:
            if self._threads is None:
                return await _transact(self._database, session, command)
            work = partial(_transact_in_thread, self._database.delegate, session.delegate, command)
            return await asyncio.get_running_loop().run_in_executor(self._threads, work)
        except (PyMongoError, OSError) as error:
            raise translate(error) from error  # another road would meet the same

    async def close(self) -> None:
        """Closes the connections. Does nothing the second time."""
        if self._threads is None:
            await self._client.close()
            return
        # It says good-bye to the server, and would hold the event loop until that answers.
        await asyncio.to_thread(self._client.close)


async def _transact(database: _Database, session: Session, command: Document) -> Document:
    # No read concern, not even the client's.
    await session.start_transaction(read_concern=ReadConcern())
    try:
        reply: Document = await database.command(command, session=session)
    except OperationFailure as error:
        await session.abort_transaction()  # else the session would refuse its next one
        raise TransactionUndoneError from error
    if "writeErrors" in reply:
        await session.abort_transaction()
        raise TransactionUndoneError
    try:
        await session.commit_transaction()
    except (PyMongoError, OSError) as error:
        raise StoreUnavailable(_COMMIT_UNANSWERED) from error
    return reply


def _transact_in_thread(database: Any, session: Any, command: Document) -> Document:
    # The same with what is beneath Motor's objects: one hand-over to a thread instead of one for each command.
    session.start_transaction(read_concern=ReadConcern())
    try:
        reply: Document = database.command(command, session=session)
    except OperationFailure as error:
        session.abort_transaction()
        raise TransactionUndoneError from error
    if "writeErrors" in reply:
        session.abort_transaction()
        raise TransactionUndoneError
    try:
        session.commit_transaction()
    except (PyMongoError, OSError) as error:
        raise StoreUnavailable(_COMMIT_UNANSWERED) from error
    return reply


class TransactionUndoneError(StoreError):
    """A transaction was given up before its commit: nothing of it is stored, now or later."""

    def __init__(self) -> None:
        super().__init__("a transaction was given up")


class CommandRefusedError(StoreError):
    """The server refused a command for good; `code` is MongoDB's."""

    def __init__(self, code: int) -> None:
        super().__init__(f"the store refused a command (code {code})")
        self.code = code


def translate(error: Exception) -> StoreError:
    """The port's error for one of the driver's; the caller chains the original."""
    if isinstance(error, ConnectionFailure | WaitQueueTimeoutError | ExecutionTimeout | NotPrimaryError | OSError):
        return StoreUnavailable("the store was not reached, or did not answer in time")
    if isinstance(error, OperationFailure):
        if is_unavailable(error.code):
            return StoreUnavailable(f"the store could not do it now (code {error.code})")
        return CommandRefusedError(error.code or 0)
    return StoreError("the driver refused a command")


def is_unavailable(code: int | None) -> bool:
    """Whether this code of a failed command or write leaves the result unknown."""
    return code in _UNAVAILABLE_CODES


def encoded(document: Mapping[str, Any]) -> RawBSONDocument:
    """The document in its bytes, encoded once: its size is known and commands copy it. Raises StoreError if BSON cannot hold it."""
    try:
        return RawBSONDocument(bson.encode(document))
    except (bson.errors.BSONError, OverflowError) as error:
        raise StoreError("the value cannot be stored as BSON") from error


def _warn_of_contradictions(url: str) -> None:
    if url.startswith("mongodb+srv://"):
        return  # parsing would ask DNS here, on the event loop; the options are overridden all the same
    found = {name.lower(): value for name, value in parse_uri(url, warn=False)["options"].items()}
    same = found.get("retrywrites") is False
    ignored = sorted(name for name in _CONTRADICTING if name in found and not (same and name == "retrywrites"))
    if ignored:
        log.warning("options of the MongoDB URL are overridden, since they would weaken what an OK means: %s", ", ".join(ignored))


def _pinned() -> dict[str, Any]:
    return {
        "appname": "perdure",
        "w": "majority",
        "journal": True,
        "wTimeoutMS": limits.WRITE_TIMEOUT_MS,
        "readPreference": "primary",
        "readConcernLevel": "local",
        "retryWrites": False,
        "retryReads": False,
        "timeoutMS": None,
        "socketTimeoutMS": limits.SOCKET_TIMEOUT_MS,
        "connectTimeoutMS": limits.CONNECT_TIMEOUT_MS,
        "serverSelectionTimeoutMS": limits.SELECTION_TIMEOUT_MS,
        "waitQueueTimeoutMS": limits.SELECTION_TIMEOUT_MS,
        "maxPoolSize": limits.CONNECTIONS,
    }
