"""Writes tests/conformance/codec_vectors.json: what `aes-gcm` values and digests are, byte by byte, for the clients of all languages.

python tools/codec_vectors.py            write it
python tools/codec_vectors.py --check    fail if it is stale
"""

import base64
import hashlib
import json
import sys
from pathlib import Path
from typing import Any, Final

from perdure.aes_gcm import AesGcm, KeyRing
from perdure.codec import Kind
from perdure.errors import PayloadUndecodable
from perdure.sealing import digested
from perdure.v1 import payload_pb2

TARGET: Final = Path(__file__).parent.parent / "tests" / "conformance" / "codec_vectors.json"

KEYS: Final = {"k1": bytes(range(32)), "team.2027-01": bytes(range(100, 132))}
DIGEST_KEY: Final = bytes(range(200, 232))
REPEATED: Final = "0123456789abcdef"
REPEATS: Final = 65_536

NOTES: Final = [
    "plain = kind ('j' JSON text, 'b' bytes, 'f' serialized perdure.v1.Failure with only message and details) + the value.",
    "encoded = 01 | length of the key id (1 byte) | key id (ASCII) | check (4) | nonce (12) | cipher text | tag (16).",
    "check = first 4 bytes of HMAC-SHA256(key, 'perdure key check').",
    "associated data = 'perdure/aes-gcm' + everything before the nonce + content_type (UTF-8); AES-256-GCM.",
    "digest = 'hs256:' + hex of HMAC-SHA256(digest_key, digest input). Only inputs of starts and schedules carry one.",
    "digest input = of JSON 'j' + canonical; of bytes 'b' + length of content_type (4 bytes, big endian) + content_type + the bytes.",
    "canonical = members sorted by the code points of their names, no white space, numbers as written, strings escaped minimally.",
    "`repeated` stands for a value too long to print: the JSON string of `text` that many times; `encoded_sha256` is that of `encoded`.",
    "Every binary field here is base64.",
]

VALUES: Final[tuple[tuple[str, str, str | bytes, str], ...]] = (
    ("a string", "k1", '"hello"', ""),
    ("the JSON null is a value", "k1", "null", ""),
    ("an empty string", "k1", '""', ""),
    ("an object; order, white space and escapes do not matter to the digest", "k1", '{ "b": 1.50, "a": [true, null, "\\u00e9\\/"] }', ""),
    ("the same object written otherwise has the same digest", "k1", '{"a":[true,null,"é/"],"b":1.50}', ""),
    ("numbers are as written: 1.5 is not 1.50", "k1", '{"a":[true,null,"é/"],"b":1.5}', ""),
    ("64-bit integers", "k1", "[9007199254740993,-9223372036854775808,18446744073709551615,1e400]", ""),
    ("not ASCII, beyond the basic plane too", "k1", '{"名":"日本語 😀","ß":"\\ud83d\\ude00"}', "application/json"),
    ("names sort by code points, not by UTF-16", "k1", '{"\\uffff":1,"😀":2,"a":3}', ""),
    ("what must be escaped", "k1", '"\\u0000\\u001f\\u007f\\b\\t\\n\\f\\r\\"\\\\ \\u2028"', ""),
    ("bytes", "k1", bytes(range(256)), "application/octet-stream"),
    ("no bytes", "k1", b"", ""),
    ("bytes of another content type have another digest", "k1", b"", "image/png"),
    ("another key, with a long id", "team.2027-01", '{"amount":"100.00"}', ""),
)


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _ring(active: str) -> KeyRing:
    return KeyRing(active, KEYS, DIGEST_KEY)


def _value(name: str, key: str, value: str | bytes, content_type: str) -> dict[str, Any]:
    codec = AesGcm(_ring(key))
    nonce = hashlib.sha256(name.encode()).digest()[:12]
    payload = payload_pb2.Payload(content_type=content_type)
    if isinstance(value, str):
        payload.json = value
        plain, told = Kind.JSON + value.encode(), {"json": value}
    else:
        payload.binary = value
        plain, told = Kind.BINARY + value, {"binary": _base64(value)}
    found = digested(payload)
    canonical = {"canonical": found[1:].decode()} if isinstance(value, str) else {}
    encoded = {"encoded": _base64(codec.encode_with(nonce, plain, content_type))}
    head = {"name": name, "key": key, "nonce": _base64(nonce), "content_type": content_type}
    return head | told | canonical | encoded | {"digest": codec.digest(found)}


def _repeated() -> dict[str, Any]:
    made = _value("a megabyte", "k1", json.dumps(REPEATED * REPEATS), "")
    for name in ("json", "canonical"):
        del made[name]
    encoded = base64.b64decode(made.pop("encoded"))
    return made | {"repeated": {"text": REPEATED, "times": REPEATS}, "encoded_sha256": _base64(hashlib.sha256(encoded).digest())}


def _failure() -> dict[str, Any]:
    details = payload_pb2.Payload(json='{"stack":"at line 1"}')
    inner = payload_pb2.Failure(message="no minutes left for Müller", details=details)
    nonce = bytes(range(12))
    plain = Kind.FAILURE + inner.SerializeToString(deterministic=True)
    return {
        "name": "a failure: type and flags stay, message and details travel in the details, the message is empty",
        "key": "k1",
        "nonce": _base64(nonce),
        "message": inner.message,
        "details": {"json": details.json},
        "serialized": _base64(inner.SerializeToString(deterministic=True)),
        "encoded": _base64(AesGcm(_ring("k1")).encode_with(nonce, plain, "")),
    }


def _refusals() -> list[dict[str, str]]:
    codec = AesGcm(_ring("k1"))
    good = codec.encode_with(bytes(12), Kind.JSON + b'"x"', "")
    other = AesGcm(KeyRing("k1", {"k1": bytes(32)}, DIGEST_KEY)).encode_with(bytes(12), Kind.JSON + b'"x"', "")
    unknown = AesGcm(KeyRing("k9", {"k9": bytes(32)}, DIGEST_KEY)).encode_with(bytes(12), Kind.JSON + b'"x"', "")
    cases = (
        ("a changed bit of the cipher text", good[:-20] + bytes([good[-20] ^ 1]) + good[-19:], ""),
        ("a changed nonce", good[:8] + bytes([good[8] ^ 1]) + good[9:], ""),
        ("another content type", good, "text/plain"),
        ("another key of the same id", other, ""),
        ("a key that is not in the ring", unknown, ""),
        ("too short", good[:20], ""),
        ("no bytes", b"", ""),
        ("another version", b"\x02" + good[1:], ""),
    )
    return [
        {"name": name, "content_type": kind, "encoded": _base64(data), "cause": _cause(codec, data, kind)} for name, data, kind in cases
    ]


def _cause(codec: AesGcm, data: bytes, content_type: str) -> str:
    try:
        codec.decode(data, content_type)
    except PayloadUndecodable as error:
        return error.cause
    raise AssertionError("it should not decode")


def made() -> str:
    """The file's text."""
    values = [_value(*value) for value in VALUES] + [_repeated()]
    ring = json.loads(_ring("k1").to_json())
    found = {"about": NOTES, "key_file": ring, "values": values, "failures": [_failure()], "refused": _refusals()}
    return json.dumps(found, ensure_ascii=True, indent=1) + "\n"


def main() -> int:
    """Writes the file, or with `--check` compares it; 1 if it is stale."""
    text = made()
    if "--check" in sys.argv[1:]:
        is_fresh = TARGET.exists() and TARGET.read_text(encoding="utf-8") == text
        print("codec vectors are fresh" if is_fresh else "codec vectors are stale: run `python tools/codec_vectors.py`")
        return 0 if is_fresh else 1
    TARGET.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
