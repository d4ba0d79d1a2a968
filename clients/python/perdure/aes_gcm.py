"""AES-256-GCM for payloads, by the library `cryptography` (`pip install 'perdure[crypto]'`).

    {"active": "k2", "keys": {"k1": "<base64 of 32 bytes>", "k2": "..."}, "digest_key": "..."}

is a key file: new values are encrypted with the active key, all keys decrypt. An encrypted value is

    1 | length of the key's id | the id | check of the key (4) | nonce (12) | cipher text with its tag (16)

and its associated data is `perdure/aes-gcm`, everything before the nonce, and the content type. Nonces are random: give a new
key to a ring before one key has encrypted 2^32 values.
"""

import base64
import binascii
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Self, cast

try:
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM
except ImportError as missing:
    raise ImportError("perdure.aes_gcm needs the library cryptography: pip install 'perdure[crypto]'") from missing

import hmac

from perdure.codec import AES_GCM
from perdure.errors import PayloadUndecodable

_KEY_SIZE: Final = 32
_CHECK_SIZE: Final = 4
_NONCE_SIZE: Final = 12
_TAG_SIZE: Final = 16
_KEY_ID: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")
_VERSION: Final = 1
_CONTEXT: Final = b"perdure/aes-gcm"


@dataclass(frozen=True)
class KeyRing:
    """The keys of one team: which encrypts, which still decrypt, and which makes digests."""

    active: str
    """Id of the key that encrypts."""
    keys: Mapping[str, bytes] = field(repr=False)
    """By id, 32 bytes each. Ids have 1 to 64 letters, digits, `.`, `_` and `-`; they travel readable."""
    digest_key: bytes = field(repr=False)
    """32 bytes. Keep it when keys change: with another one a repeated start is no longer known as the same."""

    def __post_init__(self) -> None:
        for key_id, key in self.keys.items():
            if not _KEY_ID.fullmatch(key_id):
                raise ValueError(f"a key's id has 1 to 64 letters, digits, `.`, `_` and `-`; {key_id!r} has not")
            if len(key) != _KEY_SIZE:
                raise ValueError(f"key {key_id} has {len(key)} bytes; AES-256 needs {_KEY_SIZE}")
        if self.active not in self.keys:
            raise ValueError(f"the active key {self.active!r} is not among the keys: {', '.join(self.keys) or 'there are none'}")
        if len(self.digest_key) != _KEY_SIZE:
            raise ValueError(f"digest_key has {len(self.digest_key)} bytes; it needs {_KEY_SIZE}")

    @classmethod
    def new(cls, key_id: str = "k1") -> Self:
        """A ring with one new random key, and a new digest key."""
        return cls(key_id, {key_id: os.urandom(_KEY_SIZE)}, os.urandom(_KEY_SIZE))

    def with_new_key(self, key_id: str) -> Self:
        """A ring with one more random key, which does not encrypt yet. Raises ValueError if it has one of that id."""
        if key_id in self.keys:
            raise ValueError(f"the ring has a key {key_id} already")
        return replace(self, keys={**self.keys, key_id: os.urandom(_KEY_SIZE)})

    def with_active(self, key_id: str) -> Self:
        """The ring with another of its keys to encrypt with. Raises ValueError if it has none of that id."""
        return replace(self, active=key_id)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The ring of a key file's text. Raises ValueError that names what is wrong, and no key."""
        try:
            found: Any = json.loads(text)
        except ValueError:
            raise ValueError("a key file is JSON, and this is none") from None
        ring = cast("dict[str, Any]", found) if isinstance(found, dict) else {}
        if not isinstance(ring.get("keys"), dict) or not isinstance(ring.get("active"), str):
            raise ValueError('a key file is {"active": id, "keys": {id: base64}, "digest_key": base64}')  # noqa: TRY004 -- the file is wrong
        given = cast("dict[str, object]", ring["keys"])
        keys = {key_id: _from_base64(f"keys.{key_id}", key) for key_id, key in given.items()}
        return cls(ring["active"], keys, _from_base64("digest_key", ring.get("digest_key")))

    def to_json(self) -> str:
        """The text of its key file: a secret."""
        keys = {key_id: base64.b64encode(key).decode() for key_id, key in self.keys.items()}
        return json.dumps({"active": self.active, "keys": keys, "digest_key": base64.b64encode(self.digest_key).decode()}, indent=2) + "\n"


class AesGcm:
    """The codec `aes-gcm`."""

    @property
    def name(self) -> str:
        """`aes-gcm`: it travels with each value."""
        return AES_GCM

    def __init__(self, ring: KeyRing) -> None:
        self._ring = ring
        self._ciphers = {key_id: AESGCM(key) for key_id, key in ring.keys.items()}
        self._headers = {key_id: _header(key_id, key) for key_id, key in ring.keys.items()}

    @classmethod
    def from_file(cls, path: str | Path) -> Self:
        """The codec of a key file. Raises OSError, and ValueError that names what is wrong in it."""
        try:
            return cls(KeyRing.from_json(Path(path).read_text(encoding="utf-8")))
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None

    def __repr__(self) -> str:
        return f"<AesGcm active={self._ring.active} keys={','.join(self._ring.keys)}>"

    def encode(self, plain: bytes, content_type: str) -> bytes:
        """Encrypts with the active key and a random nonce."""
        return self.encode_with(os.urandom(_NONCE_SIZE), plain, content_type)

    def encode_with(self, nonce: bytes, plain: bytes, content_type: str) -> bytes:
        """As `encode` with a nonce that is given: for test vectors only, as a nonce that is used twice breaks the key."""
        header = self._headers[self._ring.active]
        return header + nonce + self._ciphers[self._ring.active].encrypt(nonce, plain, _associated(header, content_type))

    def decode(self, encoded: bytes, content_type: str) -> bytes:
        """Decrypts with the key that the value names.

        Raises:
            PayloadUndecodable: The key is missing or is another one, or the value was changed.
        """
        header, key_id = _parse(encoded)
        cipher = self._ciphers.get(key_id)
        if cipher is None:
            raise PayloadUndecodable(f"key {key_id} is not in the key ring, which has {', '.join(self._ciphers)}", "key_missing")
        if header != self._headers[key_id]:
            raise PayloadUndecodable(f"key {key_id} in the key ring is another key than the one that encrypted this", "key_wrong")
        body = len(header) + _NONCE_SIZE
        try:
            return cipher.decrypt(encoded[len(header) : body], encoded[body:], _associated(header, content_type))
        except InvalidTag:
            raise PayloadUndecodable("the value or its content type was changed after it was encrypted", "tampered") from None

    def digest(self, plain: bytes) -> str:
        """HMAC-SHA256 with the digest key."""
        return "hs256:" + hmac.digest(self._ring.digest_key, plain, "sha256").hex()


def _header(key_id: str, key: bytes) -> bytes:
    check = hmac.digest(key, b"perdure key check", "sha256")[:_CHECK_SIZE]
    return bytes((_VERSION, len(key_id))) + key_id.encode("ascii") + check


def _associated(header: bytes, content_type: str) -> bytes:
    return _CONTEXT + header + content_type.encode()


def _parse(encoded: bytes) -> tuple[bytes, str]:
    if len(encoded) < 2 or encoded[0] != _VERSION:
        version = f"version {encoded[0]}" if encoded else "no bytes"
        raise PayloadUndecodable(f"{version} of the encrypted form is not known here", "malformed")
    size = 2 + encoded[1] + _CHECK_SIZE
    if len(encoded) < size + _NONCE_SIZE + _TAG_SIZE:
        raise PayloadUndecodable(f"{len(encoded)} bytes are too few for an encrypted value", "malformed")
    return encoded[:size], encoded[2 : 2 + encoded[1]].decode("ascii", "replace")


def _from_base64(name: str, value: Any) -> bytes:
    try:
        return base64.b64decode(value, validate=True)
    except (TypeError, ValueError, binascii.Error):
        raise ValueError(f"{name} is not base64") from None
