"""Who makes the call that is being handled, and what they may do where."""

from collections.abc import Collection, Iterable, Mapping
from contextvars import ContextVar
from typing import Final

from msgspec import Struct

from perdure_server.rpc.doors.permissions import GRANTED, Permission, Role, Scope, roles_with
from perdure_server.rpc.errors import CallRefused

EVERYWHERE: Final = "*"

Patterns = tuple[str, ...]


class Grants(Struct, frozen=True):
    """Permissions by namespace. A pattern is a name, or the beginning of names and `*`."""

    exact: Mapping[str, frozenset[Permission]] = {}
    beginnings: tuple[tuple[str, frozenset[Permission]], ...] = ()
    everywhere: frozenset[Permission] = frozenset()

    def allow(self, permission: Permission, namespace: str | Scope) -> bool:
        """Whether they hold there."""
        if permission in self.everywhere:
            return True
        if namespace is Scope.EVERYWHERE:
            return False
        if isinstance(namespace, Scope):
            return any(permission in found for found in self.exact.values()) or any(permission in found for _, found in self.beginnings)
        if permission in self.exact.get(namespace, ()):
            return True
        return any(permission in found for beginning, found in self.beginnings if namespace.startswith(beginning))


def grants_of(roles: Iterable[tuple[Role, Patterns]]) -> Grants:
    """What these roles, each in some namespaces, come to."""
    exact: dict[str, frozenset[Permission]] = {}
    beginnings: list[tuple[str, frozenset[Permission]]] = []
    everywhere: frozenset[Permission] = frozenset()
    for role, patterns in roles:
        for pattern in patterns:
            if pattern == EVERYWHERE:
                everywhere |= GRANTED[role]
            elif pattern.endswith(EVERYWHERE):
                beginnings.append((pattern.removesuffix(EVERYWHERE), GRANTED[role]))
            else:
                exact[pattern] = exact.get(pattern, frozenset()) | GRANTED[role]
    return Grants(exact, tuple(beginnings), everywhere)


def joined(first: Grants, second: Grants) -> Grants:
    """What both allow together."""
    names = first.exact.keys() | second.exact.keys()
    exact = {name: first.exact.get(name, frozenset()) | second.exact.get(name, frozenset()) for name in names}
    return Grants(exact, first.beginnings + second.beginnings, first.everywhere | second.everywhere)


class Identity(Struct, frozen=True):
    """A proved caller. `name` is what the audit trail says; `expires` in ms of Unix time, None = with its connection."""

    name: str
    grants: Grants
    expires: int | None = None


class Credential(Struct, frozen=True):
    """What a call shows. Its repr says only of which kind it is."""

    token: str = ""
    certificate: str = ""

    def __repr__(self) -> str:
        return f"Credential({'token' if self.token else 'certificate' if self.certificate else 'none'})"


class Admission(Struct, eq=False):
    """A call that was let in. A stream remembers what it has `asked` for, so that it can be asked again."""

    identity: Identity
    asked: list[tuple[Permission, Collection[str] | Scope, str]] | None = None
    ends: float | None = None  # when the loop's time has come to this, its token has expired


CURRENT: ContextVar[Admission | None] = ContextVar("perdure_admission", default=None)
"""None: this server has no doors."""


def caller_name() -> str | None:
    """The proved name of who makes this call; None where there are no doors."""
    admission = CURRENT.get()
    return None if admission is None else admission.identity.name


def may(permission: Permission, namespace: str | Scope) -> bool:
    """Whether the caller of this call may; anybody may where there are no doors."""
    admission = CURRENT.get()
    return admission is None or admission.identity.grants.allow(permission, namespace)


def refusal_of(permission: Permission, namespace: str, method: str) -> CallRefused | None:
    """Why the caller may not; None: it may."""
    admission = CURRENT.get()
    return None if admission is None or may(permission, namespace) else _denied(admission.identity, permission, namespace, method)


def require(permission: Permission, namespaces: Collection[str] | Scope, method: str) -> None:
    """Raise CallRefused PERMISSION_DENIED unless the caller may, in all of these."""
    admission = CURRENT.get()
    if admission is None:
        return
    check(admission.identity, permission, namespaces, method)
    if admission.asked is not None:
        admission.asked.append((permission, namespaces, method))


def check(identity: Identity, permission: Permission, namespaces: Collection[str] | Scope, method: str) -> None:
    """Raise CallRefused PERMISSION_DENIED unless this caller may, in all of these."""
    for namespace in (namespaces,) if isinstance(namespaces, Scope) else namespaces if len(namespaces) == 1 else sorted(namespaces):
        if not identity.grants.allow(permission, namespace):
            raise _denied(identity, permission, namespace, method)


def unauthenticated(text: str) -> CallRefused:
    """No or wrong credentials; `text` names no part of them."""
    return CallRefused("UNAUTHENTICATED", f"Not let in: {text}.")


def _denied(identity: Identity, permission: Permission, namespace: str | Scope, method: str) -> CallRefused:
    roles = ", ".join(role.value for role in roles_with(permission))
    where = namespace.value if isinstance(namespace, Scope) else f"in namespace {namespace}"
    facts = {"role": roles, "permission": permission.value, "caller": identity.name}
    if isinstance(namespace, str):
        facts["namespace"] = namespace
    return CallRefused("PERMISSION_DENIED", f"{identity.name} may not call {method} {where}: that takes one of the roles {roles}.", **facts)
