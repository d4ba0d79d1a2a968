"""The one table of the doors: each RPC with the permission that it needs, and each role with the permissions that it has.

What is in no row is refused. docs/security.md shows this table; a test compares, and another walks every RPC with every role.
"""

from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from operator import attrgetter
from typing import Any, Final

from msgspec import Struct

from perdure_server.rpc.decode.values import DEFAULT_NAMESPACE


class Role(Enum):
    """What a caller is, in some namespaces."""

    READER = "reader"
    CLIENT = "client"
    WORKER = "worker"
    DEFINITION_WRITER = "definition-writer"
    OPERATOR = "operator"
    ADMIN = "admin"


class Permission(Enum):
    """What an RPC does, as far as roles are concerned."""

    SERVER_INFO = "server-info"
    READ_WORKFLOWS = "read-workflows"
    READ_PAYLOADS = "read-payloads"
    READ_DEFINITIONS = "read-definitions"
    READ_OPERATIONS = "read-operations"
    START = "start"
    WORK = "work"
    WRITE_DEFINITIONS = "write-definitions"
    CHANGE_POLICIES = "change-policies"
    OPERATE = "operate"
    REMOVE = "remove"
    AUDIT = "audit"
    MANAGE_NAMESPACES = "manage-namespaces"
    TEST = "test"


_P = Permission
_READ: Final = frozenset({_P.SERVER_INFO, _P.READ_WORKFLOWS, _P.READ_PAYLOADS, _P.READ_DEFINITIONS, _P.READ_OPERATIONS})
_OPERATE: Final = _READ | {_P.START, _P.OPERATE, _P.CHANGE_POLICIES}

GRANTED: Final[Mapping[Role, frozenset[Permission]]] = {
    Role.READER: _READ,
    Role.CLIENT: frozenset({_P.SERVER_INFO, _P.READ_WORKFLOWS, _P.READ_PAYLOADS, _P.READ_DEFINITIONS, _P.START}),
    Role.WORKER: frozenset({_P.SERVER_INFO, _P.READ_PAYLOADS, _P.READ_DEFINITIONS, _P.WORK}),
    Role.DEFINITION_WRITER: frozenset({_P.SERVER_INFO, _P.READ_DEFINITIONS, _P.WRITE_DEFINITIONS, _P.CHANGE_POLICIES}),
    Role.OPERATOR: _OPERATE,
    Role.ADMIN: frozenset(Permission),
}


class Scope(Enum):
    """Where a permission is needed when no field of the request says so."""

    ANYWHERE = "in any namespace"
    EVERYWHERE = "in all namespaces"
    FIRST_MESSAGE = "in the namespace of the stream's first message"  # which its handler asks for


class Rule(Struct, frozen=True):
    """A permission, and the field that names the namespace: a dotted path, or several of which the first that is set counts.

    `token`: a field that may stand instead of it. It names a workflow by a secret of that very workflow, so that the permission is needed
    in any namespace only: what the token opens cannot be guessed.
    """

    permission: Permission
    namespace: tuple[str, ...] | Scope = ("namespace",)
    token: str = ""


_WORKFLOW: Final = ("workflow.namespace",)
_EITHER: Final = ("namespace", "workflow.namespace")

RULES: Final[Mapping[str, Rule]] = {
    # WorkflowService
    "StartWorkflow": Rule(_P.START, _WORKFLOW),
    "StartWorkflows": Rule(_P.START, ("requests.workflow.namespace",)),
    "Signal": Rule(_P.START, _WORKFLOW, token="wake_token"),  # noqa: S106 -- the name of a field
    "Watch": Rule(_P.READ_WORKFLOWS, _WORKFLOW),
    "WatchWorkflows": Rule(_P.READ_WORKFLOWS),
    "GetWorkflow": Rule(_P.READ_WORKFLOWS, _WORKFLOW),
    "WaitForResult": Rule(_P.READ_WORKFLOWS, _WORKFLOW),
    "ListWorkflows": Rule(_P.READ_WORKFLOWS),
    "CountWorkflows": Rule(_P.READ_WORKFLOWS),
    "ListRounds": Rule(_P.READ_WORKFLOWS, _WORKFLOW),
    "ListChildren": Rule(_P.READ_WORKFLOWS, _WORKFLOW),
    "ListAttempts": Rule(_P.READ_WORKFLOWS, _WORKFLOW),
    "FetchPayload": Rule(_P.READ_PAYLOADS, _WORKFLOW, token="claim_token"),  # noqa: S106 -- the name of a field
    "ExplainWorkflow": Rule(_P.READ_WORKFLOWS, _WORKFLOW),
    "CancelWorkflow": Rule(_P.START, _WORKFLOW),
    "TerminateWorkflow": Rule(_P.OPERATE, _WORKFLOW),
    "PauseWorkflow": Rule(_P.OPERATE, _WORKFLOW),
    "ResumeWorkflow": Rule(_P.OPERATE, _WORKFLOW),
    "ReplayWorkflow": Rule(_P.OPERATE, _WORKFLOW),
    "DeleteWorkflow": Rule(_P.REMOVE, _WORKFLOW),
    # WorkerService
    "Claim": Rule(_P.WORK, Scope.FIRST_MESSAGE),
    "Complete": Rule(_P.WORK, Scope.ANYWHERE),
    "Heartbeat": Rule(_P.WORK, Scope.ANYWHERE),
    "PollClaims": Rule(_P.WORK),
    "RenewClaims": Rule(_P.WORK, Scope.ANYWHERE),
    # AdminService
    "RegisterDefinition": Rule(_P.WRITE_DEFINITIONS),
    "SetActiveDefinition": Rule(_P.WRITE_DEFINITIONS),
    "UpdatePolicy": Rule(_P.CHANGE_POLICIES),
    "GetDefinition": Rule(_P.READ_DEFINITIONS),
    "ListDefinitions": Rule(_P.READ_DEFINITIONS),
    "DeleteDefinition": Rule(_P.WRITE_DEFINITIONS),
    "TestDefinition": Rule(_P.READ_DEFINITIONS),
    "PauseDefinition": Rule(_P.OPERATE),
    "ResumeDefinition": Rule(_P.OPERATE),
    "MigrateWorkflows": Rule(_P.OPERATE),
    "PutResource": Rule(_P.OPERATE, ("resource.namespace",)),
    "ListResources": Rule(_P.READ_OPERATIONS),
    "DeleteResource": Rule(_P.OPERATE),
    "ListQueues": Rule(_P.READ_OPERATIONS),
    "ListWorkers": Rule(_P.READ_OPERATIONS),
    "ResolveStep": Rule(_P.OPERATE, _WORKFLOW),
    "UpdateStepOptions": Rule(_P.OPERATE, _WORKFLOW),
    "ExportWorkflow": Rule(_P.OPERATE, _WORKFLOW),
    "ImportWorkflow": Rule(_P.REMOVE, Scope.FIRST_MESSAGE),
    "StartBatch": Rule(_P.OPERATE),
    "GetBatch": Rule(_P.READ_OPERATIONS),
    "ListBatches": Rule(_P.READ_OPERATIONS),
    "StopBatch": Rule(_P.OPERATE),
    "PurgeWorkflows": Rule(_P.REMOVE),
    "RedactPayloads": Rule(_P.REMOVE, _EITHER),
    "PutSchedule": Rule(_P.OPERATE, ("schedule.namespace",)),
    "ListSchedules": Rule(_P.READ_OPERATIONS),
    "TriggerSchedule": Rule(_P.OPERATE),
    "DeleteSchedule": Rule(_P.OPERATE),
    # Its limits protect the others, so an admin of this namespace alone must not raise them.
    "PutNamespace": Rule(_P.MANAGE_NAMESPACES, Scope.EVERYWHERE),
    "ListNamespaces": Rule(_P.READ_OPERATIONS, Scope.ANYWHERE),  # and shows only those where the caller has it
    "ListAuditRecords": Rule(_P.AUDIT, _EITHER),
    "GetServerInfo": Rule(_P.SERVER_INFO, Scope.ANYWHERE),
    # TestService
    "AdvanceTime": Rule(_P.TEST, Scope.EVERYWHERE),
    "ScriptOutcomes": Rule(_P.TEST),
    "WaitIdle": Rule(_P.TEST),
}

BATCH_ALSO: Final[Mapping[str, Permission]] = {"delete": _P.REMOVE, "redact": _P.REMOVE}
"""Operations of StartBatch that need another permission, too: a batch may do nothing that its caller may not do one by one."""

NO_PERMISSION_NEEDED: Final = frozenset({"grpc.health.v1.Health", "grpc.reflection.v1alpha.ServerReflection"})
"""Services that answer anybody; reflection only if the server is set to serve it. Connections still need what TLS asks of them."""


ONE_NAMESPACE: Final[Mapping[str, Callable[[Any], str]]] = {
    method: attrgetter(rule.namespace[0])
    for method, rule in RULES.items()
    if not isinstance(rule.namespace, Scope)
    and len(rule.namespace) == 1
    and not rule.token
    and method not in {"StartWorkflows", "StartBatch"}
}
"""RPCs that need one permission in the one namespace that a field names: nearly all, and those of the hot road are asked the short way."""


def roles_with(permission: Permission) -> tuple[Role, ...]:
    """The roles that have it."""
    return tuple(role for role in Role if permission in GRANTED[role])


def permissions_of(method: str, request: Any) -> tuple[Permission, ...]:
    """What a request needs."""
    needed = RULES[method].permission
    if method != "StartBatch":
        return (needed,)
    also = BATCH_ALSO.get(request.operation.WhichOneof("operation") or "")
    return (needed,) if also is None else (needed, also)


def namespaces_of(method: str, request: Any) -> frozenset[str] | Scope:
    """The namespaces that a request is about."""
    rule = RULES[method]
    if isinstance(rule.namespace, Scope):
        return rule.namespace
    if rule.token and getattr(request, rule.token) and not request.HasField("workflow"):
        return Scope.ANYWHERE
    for path in rule.namespace:
        found = frozenset(_values(request, path))
        if found - {""}:
            return frozenset(name or DEFAULT_NAMESPACE for name in found)
    return frozenset({DEFAULT_NAMESPACE})


def _values(message: Any, path: str) -> Iterable[str]:
    head, _, rest = path.partition(".")
    value = getattr(message, head)
    if not rest:
        yield value
    elif hasattr(value, "DESCRIPTOR"):
        yield from _values(value, rest)
    else:
        for item in value:
            yield from _values(item, rest)
