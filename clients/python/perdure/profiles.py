"""Profiles: settings under a name in a TOML file, for people who talk to several servers.

    [prod]
    address = "perdure.example.org:7463"
    tls_ca_file = "/etc/perdure/ca.pem"
    token_file = "/run/secrets/perdure"

Keys are the variables without PERDURE_, in lower case; a variable that is set wins over its profile.
"""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Final, cast

from perdure.errors import InvalidRequest

KEYS: Final = frozenset(
    {"address", "namespace", "token", "token_file", "codec_keys", "tls", "tls_ca_file", "tls_cert_file", "tls_key_file", "tls_server_name"}
)


def with_profile(known: Mapping[str, str], name: str | None = None) -> Mapping[str, str]:
    """The variables, and what the profile (else PERDURE_PROFILE; empty: none) says where they are not set. Raises InvalidRequest."""
    wanted = name or known.get("PERDURE_PROFILE") or ""
    if not wanted:
        return known
    path = _path(known)
    try:
        profiles = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InvalidRequest(f"the profile {wanted} cannot be read from {path}: {error}") from None
    found = profiles.get(wanted)
    if not isinstance(found, dict):
        raise InvalidRequest(f"{path} has no profile {wanted}; it has {', '.join(sorted(profiles)) or 'none'}")
    given = cast("dict[str, object]", found)
    unknown = sorted(set(given) - KEYS)
    if unknown:
        raise InvalidRequest(f"{path}: profile {wanted}: {', '.join(unknown)}: no such setting; there are {', '.join(sorted(KEYS))}")
    told = {f"PERDURE_{key.upper()}": str(value).lower() if isinstance(value, bool) else str(value) for key, value in given.items()}
    return {**told, **{variable: value for variable, value in known.items() if value}}


def _path(known: Mapping[str, str]) -> Path:
    given = known.get("PERDURE_PROFILES")
    if given:
        return Path(given)
    base = known.get("XDG_CONFIG_HOME")
    return (Path(base) if base else Path.home() / ".config") / "perdure" / "profiles.toml"
