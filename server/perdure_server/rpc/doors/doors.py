"""The doors: who calls is proved once per call, what it may is asked before its handler runs. Open streams are asked again at every change.

A bearer token counts where there is one, else the client certificate. A wrong token is refused even on a good certificate.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Final, Protocol

from msgspec import Struct

from perdure_server.kernel.limits import SECOND
from perdure_server.rpc.decode.values import DEFAULT_NAMESPACE
from perdure_server.rpc.doors.access_file import AccessTable
from perdure_server.rpc.doors.callers import known_caller, shown
from perdure_server.rpc.doors.identity import CURRENT, Admission, Credential, Identity, check, require, unauthenticated
from perdure_server.rpc.doors.permissions import ONE_NAMESPACE, RULES, Scope, namespaces_of, permissions_of
from perdure_server.rpc.errors import CallRefused
from perdure_server.rpc.transport import Behaviour, Context

_STREAMS: Final = frozenset({"Claim", "Watch", "WatchWorkflows", "ExportWorkflow", "ImportWorkflow"})
_COUNTED: Final = frozenset({"UNAUTHENTICATED", "PERMISSION_DENIED"})


_KEY_GONE: Final = unauthenticated("the token is signed by a key that its issuer does not have")


class Jwts(Protocol):
    """What proves JWTs."""

    @property
    def has_keys(self) -> bool:
        """Whether there are any keys."""

    def identify(self, token: str) -> Identity | None:
        """Who it is; None: by none of the keys that are known. Raises CallRefused UNAUTHENTICATED."""

    async def fetch_keys(self) -> None:
        """Look for new keys, if that was not done a moment ago. Never raises."""


class _Open(Struct, eq=False):
    """An open stream, and what cuts it."""

    credential: Credential
    admission: Admission
    limit: asyncio.Timeout
    refusal: CallRefused | None = None


class Doors:
    """Lets callers in by the current access table."""

    def __init__(self, table: AccessTable, jwts: Jwts | None, now: Callable[[], int], count: Callable[[str], None]) -> None:
        """`now` in ms of Unix time; `count(reason)` is called for every refusal. `jwts` None: JWTs are not believed."""
        self._table = table
        self._jwts = jwts
        self._now = now
        self._count = count
        self._open: set[_Open] = set()

    def replace(self, table: AccessTable, jwts: Jwts | None) -> None:
        """From now on this counts. Streams whose callers lost what they need end."""
        self._table = table
        self._jwts = jwts
        self.ask_again()

    def ask_again(self) -> None:
        """Ask of every open stream whether it would be let in now; end it if not."""
        now = asyncio.get_running_loop().time()
        for stream in tuple(self._open):
            try:
                caller = self._identify(stream.credential)
                if caller is None:
                    raise _KEY_GONE
                for asked in stream.admission.asked or ():
                    check(caller, *asked)
            except CallRefused as refusal:
                stream.refusal = refusal
                stream.limit.reschedule(now)

    def authenticated(self, method: str, behaviour: Behaviour) -> Behaviour:
        """The behaviour, run as the caller that was proved; UNAUTHENTICATED if none was."""
        is_stream = method in _STREAMS

        async def admitted(request: Any, context: Context) -> Any:
            try:
                credential = shown(context)
                caller = self._identify(credential)
                if caller is None:
                    caller = await self._identify_by_new_keys(credential)
                admission = Admission(caller, [] if is_stream else None)
                CURRENT.set(admission)  # for this call's task only
                if not is_stream:
                    return await behaviour(request, context)
                async with self._kept(credential, admission):
                    return await behaviour(request, context)
            except CallRefused as refusal:
                if refusal.reason in _COUNTED:
                    self._count(refusal.reason)
                raise

        return admitted

    def _identify(self, credential: Credential) -> Identity | None:
        """Who it is; None: the key that its token names is not known. Raises CallRefused UNAUTHENTICATED."""
        found = known_caller(self._table, credential)
        if found is not None:
            return found
        if self._jwts is None:
            raise unauthenticated("the token is of no kind that this server knows")
        return self._jwts.identify(credential.token)

    async def _identify_by_new_keys(self, credential: Credential) -> Identity:
        assert self._jwts is not None, "only a JWT names a key"
        await self._jwts.fetch_keys()
        found = self._identify(credential)
        if found is None:
            raise _KEY_GONE if self._jwts.has_keys else CallRefused("NOT_READY", "The issuer's keys could not be fetched yet; try again.")
        return found

    @asynccontextmanager
    async def _kept(self, credential: Credential, admission: Admission) -> AsyncIterator[None]:
        """Run the body until its caller would not be let in any more; then raise why."""
        left = self._left(admission.identity)
        admission.ends = None if left is None else asyncio.get_running_loop().time() + left
        stream = _Open(credential, admission, asyncio.timeout(left))
        try:
            async with stream.limit:
                self._open.add(stream)
                yield
        except TimeoutError:
            if stream.limit.expired():
                raise stream.refusal or unauthenticated("the token has expired") from None
            raise
        finally:
            self._open.discard(stream)

    def _left(self, identity: Identity) -> float | None:
        return None if identity.expires is None else max(0.0, (identity.expires - self._now()) / SECOND)


def authorised(method: str, behaviour: Behaviour) -> Behaviour:
    """The behaviour, if the caller may: asked before anything is looked up."""

    async def permitted(request: Any, context: Context) -> Any:
        ask(method, request)
        found: Awaitable[Any] = behaviour(request, context)
        return await found

    return permitted


def ask(method: str, request: Any) -> None:
    """Raise CallRefused PERMISSION_DENIED unless the caller may have this request served.

    The handler of a stream asks once more, when its first message has named the namespace.
    """
    get = ONE_NAMESPACE.get(method)
    if get is not None:
        require(RULES[method].permission, (get(request) or DEFAULT_NAMESPACE,), method)
        return
    namespaces = namespaces_of(method, request)
    if namespaces is Scope.FIRST_MESSAGE:
        namespaces = Scope.ANYWHERE
    for permission in permissions_of(method, request):
        require(permission, namespaces, method)
