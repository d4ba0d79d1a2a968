"""Key files of encrypted values: perdure keys."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

if TYPE_CHECKING:
    from perdure.aes_gcm import KeyRing

file_argument = click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
id_argument = click.argument("key_id", metavar="KEY_ID")


@click.group()
def keys() -> None:
    """Make and rotate the key file that values are encrypted with (PERDURE_CODEC_KEYS). Works on the file alone, and prints no key."""


@keys.command()
@file_argument
@click.option("--id", "key_id", default="k1", show_default=True, help="Id of its first key; it travels readable.")
def new(file: Path, key_id: str) -> None:
    """Make a key file with one new key, readable by you alone. A file that is there is never touched."""
    ring = _try(lambda: _ring_class().new(key_id))
    if file.exists():
        _fail(f"{file} exists: whoever loses a key loses what it encrypted, so it is left as it is")
    _write(file, ring)
    _tell(file, ring)


@keys.command()
@file_argument
@id_argument
def add(file: Path, key_id: str) -> None:
    """Add a new key, which decrypts but does not encrypt yet: bring the file to every program, then `perdure keys activate`."""
    ring = _try(lambda: _read(file).with_new_key(key_id))
    _write(file, ring)
    _tell(file, ring)


@keys.command()
@file_argument
@id_argument
def activate(file: Path, key_id: str) -> None:
    """Encrypt with this key from now on; all keys go on decrypting."""
    ring = _try(lambda: _read(file).with_active(key_id))
    _write(file, ring)
    _tell(file, ring)


@keys.command(name="list")
@file_argument
def list_keys(file: Path) -> None:
    """The ids of a key file's keys."""
    _tell(file, _try(lambda: _read(file)))


def _ring_class() -> "type[KeyRing]":
    try:
        from perdure.aes_gcm import KeyRing  # noqa: PLC0415 -- an optional extra, which only those with keys must have
    except ImportError as error:
        _fail(str(error))
    return KeyRing


def _read(file: Path) -> "KeyRing":
    return _ring_class().from_json(file.read_text(encoding="utf-8"))


def _write(file: Path, ring: "KeyRing") -> None:
    # Beside it and then in its place: a crash leaves the old keys or the new ones.
    beside = file.with_name(f".{file.name}.{os.getpid()}")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as opened:
        opened.write(ring.to_json())
        opened.flush()
        os.fsync(opened.fileno())
    beside.replace(file)


def _try(work: "Callable[[], KeyRing]") -> "KeyRing":
    try:
        return work()
    except (OSError, ValueError) as error:
        _fail(str(error))


def _tell(file: Path, ring: "KeyRing") -> None:
    marked = ", ".join(f"{key_id} (active)" if key_id == ring.active else key_id for key_id in ring.keys)
    click.echo(f"{file}: {marked}")


def _fail(text: str) -> NoReturn:
    click.echo(f"error: {text}", err=True)
    sys.exit(4)
