"""A page that no index names is found by nobody."""

import re
from pathlib import Path

from tests.docs.code_blocks import ROOT

DOCS = ROOT / "docs"
_LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


def linked(path: Path) -> set[Path]:
    """The files of this repository that a document links."""
    targets = _LINK.findall(path.read_text(encoding="utf-8"))
    return {(path.parent / target).resolve() for target in targets if "://" not in target}


def test_the_index_names_every_page() -> None:
    pages = {path.resolve() for path in DOCS.rglob("*.md")} - {(DOCS / "README.md").resolve()}
    assert not {str(path.relative_to(ROOT)) for path in pages - linked(DOCS / "README.md")}


def test_the_map_of_the_first_page_leads_to_the_index_and_to_security() -> None:
    assert {(DOCS / "README.md").resolve(), (DOCS / "security.md").resolve()} <= linked(ROOT / "README.md")


def test_no_link_of_an_index_leads_nowhere() -> None:
    for path in (ROOT / "README.md", DOCS / "README.md"):
        assert not [str(target) for target in linked(path) if not target.exists()]
