"""The page docs/reference/api.md: every RPC, message, field and value of the wire with its comment."""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Final

from google.protobuf import descriptor_pb2

PROTO: Final = Path(__file__).resolve().parent.parent / "proto"
HEAD: Final = """\
# The API

Made by `python -m tools.reference` from the comments in [proto/](../../proto); do not edit. They are promises: units, defaults, and what
happens if it fails. How to call it without a client: [grpcurl](../grpcurl.md). Errors: [errors](errors.md).
"""

_MESSAGE, _ENUM, _SERVICE = 4, 5, 6
_FIELD, _NESTED, _NESTED_ENUM, _VALUE, _METHOD = 2, 3, 4, 2, 2
_SCALARS: Final = {number: name.removeprefix("TYPE_").lower() for name, number in descriptor_pb2.FieldDescriptorProto.Type.items()}


@dataclass
class Comments:
    """The comments of one file, by the path of the element."""

    by_path: dict[tuple[int, ...], str] = field(default_factory=dict)

    def of(self, *path: int) -> str:
        """The comment in one line; lines that are indented in the source keep to themselves."""
        return " ".join(line.strip() for line in self.by_path.get(path, "").splitlines() if line.strip())


def api_page() -> str:
    """The whole page."""
    services: list[str] = []
    messages: list[tuple[str, str]] = []
    for file in _files():
        comments = Comments({tuple(place.path): place.leading_comments for place in file.source_code_info.location})
        services += [_service(service, comments, index) for index, service in enumerate(file.service)]
        for index, message in enumerate(file.message_type):
            messages += _message(message, comments, (_MESSAGE, index), "")
        messages += [_enum(enum, comments, (_ENUM, index), "") for index, enum in enumerate(file.enum_type)]
    return "\n".join([HEAD, *services, "## Messages\n", *[text for _, text in sorted(messages)]]).rstrip() + "\n"


def _files() -> list[descriptor_pb2.FileDescriptorProto]:
    names = sorted(path.relative_to(PROTO).as_posix() for path in (PROTO / "perdure").rglob("*.proto"))
    with tempfile.TemporaryDirectory() as scratch:
        target = Path(scratch) / "all.binpb"
        includes = [f"-I{PROTO}", f"-I{files('grpc_tools') / '_proto'}"]
        command = [sys.executable, "-m", "grpc_tools.protoc", *includes, "--include_source_info", f"--descriptor_set_out={target}", *names]
        subprocess.run(command, check=True)
        return list(descriptor_pb2.FileDescriptorSet.FromString(target.read_bytes()).file)


def _service(service: descriptor_pb2.ServiceDescriptorProto, comments: Comments, index: int) -> str:
    lines = [f"## {service.name}\n", comments.of(_SERVICE, index), "", "| RPC | what it does |", "| --- | --- |"]
    for number, method in enumerate(service.method):
        asked = ("stream " if method.client_streaming else "") + _link(method.input_type)
        answered = ("stream " if method.server_streaming else "") + _link(method.output_type)
        about = comments.of(_SERVICE, index, _METHOD, number)
        lines.append(f"| **{method.name}**({asked}) returns {answered} | {_cell(about)} |")
    return "\n".join(lines) + "\n"


def _message(message: descriptor_pb2.DescriptorProto, comments: Comments, path: tuple[int, ...], outer: str) -> Iterator[tuple[str, str]]:
    if message.options.map_entry:
        return
    name = f"{outer}{message.name}"
    lines = [f"### {name}\n", comments.of(*path), ""]
    if message.field:
        lines += ["| field | type | about |", "| --- | --- | --- |"]
    for number, found in enumerate(message.field):
        about = comments.of(*path, _FIELD, number)
        lines.append(f"| {found.name} | {_type(found, message)} | {_cell(about)} |")
    yield name, "\n".join(lines) + "\n"
    for number, nested in enumerate(message.nested_type):
        yield from _message(nested, comments, (*path, _NESTED, number), f"{name}.")
    for number, enum in enumerate(message.enum_type):
        yield _enum(enum, comments, (*path, _NESTED_ENUM, number), f"{name}.")


def _enum(enum: descriptor_pb2.EnumDescriptorProto, comments: Comments, path: tuple[int, ...], outer: str) -> tuple[str, str]:
    name = f"{outer}{enum.name}"
    lines = [f"### {name}\n", comments.of(*path), "", "| value | about |", "| --- | --- |"]
    lines += [f"| {value.name} | {_cell(comments.of(*path, _VALUE, number))} |" for number, value in enumerate(enum.value)]
    return name, "\n".join(lines) + "\n"


def _type(found: descriptor_pb2.FieldDescriptorProto, message: descriptor_pb2.DescriptorProto) -> str:
    entry = next(
        (nested for nested in message.nested_type if nested.options.map_entry and found.type_name.endswith(f".{nested.name}")), None
    )
    if entry is not None:
        return f"map of {_type(entry.field[0], message)} to {_type(entry.field[1], message)}"
    plain = _link(found.type_name) if found.type_name else _SCALARS[found.type]
    if found.label == found.LABEL_REPEATED:
        return f"list of {plain}"
    if found.proto3_optional:
        return f"optional {plain}"
    if found.HasField("oneof_index"):
        return f"{plain}, one of `{message.oneof_decl[found.oneof_index].name}`"
    return plain


def _link(type_name: str) -> str:
    name = type_name.removeprefix(".")
    for package in ("perdure.v1.", "perdure.testing.v1."):
        if name.startswith(package):
            short = name.removeprefix(package)
            return f"[{short}](#{short.lower().replace('.', '')})"
    return name


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")
