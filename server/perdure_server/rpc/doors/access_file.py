"""The access file: who the callers are, how each proves it, and which roles it has where. TOML; docs/access.schema.json is its schema."""

import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Final, TypeVar

import msgspec
from msgspec import Meta, Struct

from perdure_server.rpc import limits
from perdure_server.rpc.doors.identity import Grants, Identity, grants_of
from perdure_server.rpc.doors.invalid import DoorsInvalid
from perdure_server.rpc.doors.permissions import Role
from perdure_server.rpc.doors.reloading import read_file
from perdure_server.rpc.doors.tokens import TokenHash, parse_line

_NAME: Final = r"^[A-Za-z0-9][A-Za-z0-9._@/-]{0,127}$"
_PATTERN: Final = re.compile(r"\*|[a-z0-9-]{1,63}\*?")
ALGORITHMS: Final = ("RS256", "ES256", "EdDSA")

Roles = dict[str, list[str]]
T = TypeVar("T")


class CallerEntry(Struct, frozen=True, forbid_unknown_fields=True):
    """One caller."""

    name: Annotated[str, Meta(description="What the audit trail says.", pattern=_NAME)]
    roles: Annotated[Roles, Meta(description="Role to namespaces: names, beginnings with `*`, or `*` for all.")]
    tokens: Annotated[list[str], Meta(description="id:sha256 of each of its tokens; several while one is being replaced.")] = []
    certificates: Annotated[list[str], Meta(description="The URI in its client certificate, or `CN=` and its common name.")] = []
    subjects: Annotated[list[str], Meta(description="Subject of its JWTs.")] = []


class GroupEntry(Struct, frozen=True, forbid_unknown_fields=True):
    """What all have whose JWT names this group."""

    name: Annotated[str, Meta(description="The group, as the JWT says it.", min_length=1)]
    roles: Annotated[Roles, Meta(description="Role to namespaces, as of a caller.")]


class JwtEntry(Struct, frozen=True, forbid_unknown_fields=True):
    """Which JWTs are believed."""

    issuer: Annotated[str, Meta(description="Must be the `iss`.", min_length=1)]
    audience: Annotated[str, Meta(description="Must be in the `aud`.", min_length=1)]
    jwks: Annotated[str, Meta(description="The issuer's keys: an https URL, or a file beside the access file.", min_length=1)]
    algorithms: Annotated[tuple[str, ...], Meta(description="Of RS256, ES256 and EdDSA.", min_length=1)] = ALGORITHMS
    subject_claim: Annotated[str, Meta(description="The claim that names the caller.")] = "sub"
    groups_claim: Annotated[str, Meta(description="The claim that lists groups.")] = "groups"
    leeway_seconds: Annotated[int, Meta(description="How far clocks may differ.", ge=0, le=300)] = limits.JWT_LEEWAY_SECONDS


class AccessFile(Struct, frozen=True, forbid_unknown_fields=True):
    """The whole file."""

    callers: list[CallerEntry] = []
    groups: list[GroupEntry] = []
    jwt: JwtEntry | None = None


class AccessTable(Struct, frozen=True):
    """The file, made ready for looking things up."""

    tokens: Mapping[str, tuple[TokenHash, Identity]] = {}
    certificates: Mapping[str, Identity] = {}
    subjects: Mapping[str, Identity] = {}
    groups: Mapping[str, Grants] = {}
    jwt: JwtEntry | None = None

    def __repr__(self) -> str:
        return f"AccessTable({len(self.tokens)} tokens, {len(self.certificates)} certificates, {len(self.subjects)} subjects)"


def schema() -> bytes:
    """docs/access.schema.json."""
    return msgspec.json.format(msgspec.json.encode(msgspec.json.schema(AccessFile)), indent=2) + b"\n"


def read_access_file(path: Path) -> AccessTable:
    """The table of a file. Raises DoorsInvalid with every fault."""
    data = read_file(path)
    try:
        decoded = msgspec.convert(tomllib.loads(data.decode()), AccessFile)
    except UnicodeDecodeError:
        raise DoorsInvalid([f"{path}: is not UTF-8"]) from None
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise DoorsInvalid([f"{path}: {error}"]) from None
    return _table(decoded, path)


def _table(decoded: AccessFile, path: Path) -> AccessTable:
    faults: list[str] = []
    tokens: dict[str, tuple[TokenHash, Identity]] = {}
    certificates: dict[str, Identity] = {}
    subjects: dict[str, Identity] = {}
    groups: dict[str, Grants] = {}
    names: dict[str, str] = {}
    for entry in decoded.callers:
        told = f"{path}: caller {entry.name}"
        _once(names, entry.name, entry.name, f"{told}: there are two of this name", faults)
        identity = Identity(entry.name, _grants(entry.roles, told, faults))
        for number, line in enumerate(entry.tokens):
            try:
                parsed = parse_line(line)
            except ValueError as error:
                faults.append(f"{told}: tokens[{number}] {error}")
            else:
                _once(tokens, parsed.token_id, (parsed, identity), f"{told}: token {parsed.token_id} is there twice", faults)
        for certificate in entry.certificates:
            _certificate(certificates, certificate, identity, (told, faults))
        for subject in entry.subjects:
            _once(subjects, subject, identity, f"{told}: subject {subject} is there twice", faults)
    for group in decoded.groups:
        told = f"{path}: group {group.name}"
        _once(groups, group.name, _grants(group.roles, told, faults), f"{told}: there are two of this name", faults)
    if decoded.jwt is not None:
        faults += _jwt_faults(decoded.jwt, path)
    elif subjects or groups:
        faults.append(f"{path}: subjects and groups need a [jwt] section")
    if faults:
        raise DoorsInvalid(faults)
    return AccessTable(tokens, certificates, subjects, groups, decoded.jwt)


def _once(target: dict[str, T], key: str, value: T, fault: str, faults: list[str]) -> None:
    if key in target:
        faults.append(fault)
    target[key] = value


def _certificate(target: dict[str, Identity], text: str, identity: Identity, report: tuple[str, list[str]]) -> None:
    told, faults = report
    if not text.startswith("CN=") and "://" not in text:
        faults.append(f"{told}: certificate {text} must be a URI, or CN= and a common name")
    _once(target, text, identity, f"{told}: certificate {text} is there twice", faults)


def _grants(roles: Roles, told: str, faults: list[str]) -> Grants:
    known = {role.value: role for role in Role}
    found: list[tuple[Role, tuple[str, ...]]] = []
    for name, patterns in roles.items():
        if name not in known:
            faults.append(f"{told}: {name} is no role; there are {', '.join(known)}")
            continue
        faults += [f"{told}: {name}: {pattern!r} is no namespace, beginning* or *" for pattern in _wrong(patterns)]
        found.append((known[name], tuple(patterns)))
    return grants_of(found)


def _wrong(patterns: Iterable[str]) -> list[str]:
    return [pattern for pattern in patterns if not _PATTERN.fullmatch(pattern)]


def _jwt_faults(entry: JwtEntry, path: Path) -> list[str]:
    unknown = sorted(set(entry.algorithms) - set(ALGORITHMS))
    faults = [f"{path}: jwt.algorithms: {', '.join(unknown)}: only {', '.join(ALGORITHMS)}"] if unknown else []
    if "://" in entry.jwks and not _is_safe_url(entry.jwks):
        faults.append(f"{path}: jwt.jwks must be an https URL (http only on this machine), or a file")
    return faults


def _is_safe_url(url: str) -> bool:
    return url.startswith(("https://", "http://127.0.0.1:", "http://localhost:", "http://[::1]:"))
