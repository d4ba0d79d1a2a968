"""Every field of every answer is set somewhere: read from the source of the encoders, by the types that they name."""

import ast
from pathlib import Path
from typing import Final

from google.protobuf.descriptor import Descriptor

from perdure.testing.v1 import test_service_pb2
from perdure.v1 import admin_service_pb2, worker_service_pb2, workflow_service_pb2

RPC = Path(__file__).parents[2] / "server" / "perdure_server" / "rpc"
SERVICES = (workflow_service_pb2, worker_service_pb2, admin_service_pb2, test_service_pb2)
Field = tuple[str, str]  # message, field


def response_messages() -> dict[str, Descriptor]:
    """Every message of ours that an answer can hold, by its short name (nested ones with a dot)."""
    found: dict[str, Descriptor] = {}
    left = [
        method.output_type for module in SERVICES for service in module.DESCRIPTOR.services_by_name.values() for method in service.methods
    ]
    while left:
        message = left.pop()
        if message.full_name.startswith("perdure.") and name_of(message) not in found:
            found[name_of(message)] = message
            left += [field.message_type for field in message.fields if field.message_type is not None]
    return found


def name_of(message: Descriptor) -> str:
    """`Workflow`, `StartWorkflowsResponse.Result`."""
    return message.full_name.removeprefix(message.file.package + ".")


class Setters(ast.NodeVisitor):
    """Walks one module; `found` are the fields that it sets."""

    def __init__(self, messages: dict[str, Descriptor]) -> None:
        self._messages = messages
        self._by_last = {name.rsplit(".", 1)[-1]: message for name, message in messages.items()}
        self._types: dict[str, Descriptor] = {}
        self.found: set[Field] = set()

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """Its parameters have types, and what it makes has."""
        outer, self._types = self._types, dict(self._types)
        for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
            message = self._named(argument.annotation)
            if message is not None:
                self._types[argument.arg] = message
        self.generic_visit(node)
        self._types = outer

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        """The same."""
        self.visit_FunctionDef(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        """`target.field = ...` sets it; `name = Message(...)` and `name = target.field.add()` say what the name is."""
        self.generic_visit(node)
        for target in node.targets:
            for one in target.elts if isinstance(target, ast.Tuple) else [target]:
                self._set(one)
        for target in node.targets:
            if isinstance(target, ast.Tuple):
                self._name_all(target.elts, node.value)
        made = self._type_of(node.value)
        for target in node.targets:
            if isinstance(target, ast.Name) and made is not None:
                self._types[target.id] = made
                self._set(node.value)  # a part of a message that has a name of its own is filled
            elif isinstance(target, ast.Name) and isinstance(node.value, ast.Attribute):
                named = self._named(node.value)
                if named is not None:
                    self._by_last[target.id] = named

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """The same with a type."""
        self.generic_visit(node)
        message = self._named(node.annotation)
        if isinstance(node.target, ast.Name) and message is not None:
            self._types[node.target.id] = message

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        """`target.field += ...`."""
        self.generic_visit(node)
        self._set(node.target)

    def visit_For(self, node: ast.For) -> None:
        """`for name in target.field`."""
        made = self._type_of(node.iter)
        if made is not None and isinstance(node.target, ast.Name):
            self._types[node.target.id] = made
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        """`Message(field=...)`, `target.field.add(field=...)`, `target.field.extend(...)`, `fill(target.field, ...)`."""
        made = self._type_of(node)
        if made is not None:
            self.found |= {(name_of(made), keyword.arg) for keyword in node.keywords if keyword.arg}
        if isinstance(node.func, ast.Attribute):
            self._set(node.func.value)
        for argument in node.args:
            self._set(argument)
        self.generic_visit(node)

    def _name_all(self, names: list[ast.expr], value: ast.expr) -> None:
        # `message, size = Message(), 0` and `one, two = (Message() for _ in range(2))`
        made = value.elts if isinstance(value, ast.Tuple) else [value.elt] * len(names) if isinstance(value, ast.GeneratorExp) else []
        for name, one in zip(names, made, strict=False):
            message = self._type_of(one)
            if isinstance(name, ast.Name) and message is not None:
                self._types[name.id] = message

    def _set(self, node: ast.expr) -> None:
        while isinstance(node, ast.Subscript | ast.Starred):
            node = node.value
        if isinstance(node, ast.Attribute):
            owner = self._type_of(node.value)
            if owner is not None and node.attr in owner.fields_by_name:
                self.found.add((name_of(owner), node.attr))
                self._set(node.value)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "add":
            self._set(node.func.value)

    def _type_of(self, node: ast.expr) -> Descriptor | None:
        if isinstance(node, ast.Name):
            return self._types.get(node.id)
        if isinstance(node, ast.Subscript):
            return self._type_of(node.value)
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Attribute) and node.func.attr == "add":
                return self._type_of(node.func.value)
            return self._named(node.func)
        if isinstance(node, ast.Attribute):
            owner = self._type_of(node.value)
            field = owner.fields_by_name.get(node.attr) if owner is not None else None
            return field.message_type if field is not None else None
        return None

    def _named(self, node: ast.expr | None) -> Descriptor | None:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node = ast.parse(node.value, mode="eval").body
        if isinstance(node, ast.BinOp):  # A | B: the fields that they share
            return self._named(node.left)
        return self._by_last.get(ast.unparse(node).rsplit(".", 1)[-1]) if node is not None else None


def set_fields(messages: dict[str, Descriptor]) -> set[Field]:
    """What the encoders and services set."""
    found: set[Field] = set()
    for path in sorted(RPC.rglob("*.py")):
        if "decode" not in path.parts:
            tree, setters = ast.parse(path.read_text()), Setters(messages)
            setters.visit(tree)
            found |= setters.found
            strings = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
            if "getattr(" in path.read_text():
                found |= {(name, field) for name in BY_NAME for field in strings.intersection(messages[name].fields_by_name)}
    return found


# Filled by a loop over the names of fields, which the module holds as strings.
BY_NAME: Final = {"Hooks", "ServerDefaults", "ServerLimits", "StepPolicy"}

# What an answer gives back as it was sent: parsed from stored bytes, not filled field by field.
AS_SENT: Final = frozenset(
    [
        "BatchMigrate",
        "BatchOperation",
        "BatchRedact",
        "BatchReplay",
        "BatchResolveStep",
        "BatchSignal",
        "BatchUpdateStepOptions",
        "Completed",
        "NamespaceLimits",
        "RetryStep",
        "StepPolicyUpdate",
        "StepResolution",
        "TimeRange",
        "UpdateStepOptionsRequest",
        "WorkflowFilter",
    ]
)

EXCEPTIONS: Final = {
    ("BackendInfo", "since_time"): "of coordination nobody keeps it: whether it can be reached is asked at each call",
    ("Batch", "filter"): "as sent",
    ("Batch", "operation"): "as sent",
    ("Pool", "any_contract"): "of a hello: what it comes to is in step_contracts",
    ("Pool", "definition_index"): "of a hello: what it comes to is in step_contracts",
    ("Pool", "steps"): "of a hello: what it comes to is in step_contracts",
    ("StartWorkflowResult", "response"): "copied whole in _start_group",
    ("TestDefinitionResponse", "warnings"): "a definition that passes has nothing to be warned of",
    ("WorkflowRef", "expected_fence"): "of requests: an answer has the fence beside the reference",
}


def test_every_field_of_every_answer_is_set_somewhere() -> None:
    messages = response_messages()
    found = set_fields(messages)
    wanted = {
        (name, field.name)
        for name, message in messages.items()
        for field in message.fields
        if not message.GetOptions().map_entry and name not in AS_SENT
    }
    assert sorted(wanted - found - EXCEPTIONS.keys()) == [], "promised by the proto, and set by nobody"
    assert sorted(EXCEPTIONS.keys() & found) == [], "no exception any more"
    assert sorted(EXCEPTIONS.keys() - wanted) == [], "no such field"
    assert messages.keys() | {"UpdateStepOptionsRequest"} >= AS_SENT
