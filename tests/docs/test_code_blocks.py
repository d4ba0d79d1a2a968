"""Every fenced block of every document is checked: it runs, it has sound types, or at least it parses against what there is."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.code_blocks import DOCUMENTS, ROOT, Block, blocks, blocks_of, faults, inline_faults, perdure_faults

ALL = list(blocks())
PYTHON = [block for block in ALL if block.kind == "python"]

# Programs of several files, which tests run as they stand; mypy could not find their imports from here.
RUN_ELSEWHERE = {
    "README.md": "cut from examples/note/note.py, which tests run, and which imports the company's own clients",
    "docs/testing.md": "its files are a test suite, run by tests/client/test_testing_page.py",
    "docs/outbox.md": "needs a MongoDB session that it does not open; start_document is tested by tests/client/test_outbox.py",
    "clients/python/README.md": "its samples are run by tests/client/test_readme.py",
}


def test_there_are_documents_and_blocks() -> None:
    assert len(DOCUMENTS) > 15
    assert len(ALL) > 30


def test_every_block_is_of_a_kind_that_is_checked_and_is_sound() -> None:
    found = [fault for block in ALL for fault in faults(block)]
    assert not found, "\n".join(found)


def test_commands_inside_sentences_exist() -> None:
    found = [fault for path in DOCUMENTS for fault in inline_faults(str(path.relative_to(ROOT)), path.read_text(encoding="utf-8"))]
    assert not found, "\n".join(found)
    assert list(inline_faults("x.md", "see `perdure lst`")) == ["x.md: `perdure` has no command 'lst'"]


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_python_blocks_have_sound_types(tmp_path: Path) -> None:
    """One run of mypy over all: each block is a module of its own, and must stand alone."""
    shown: dict[str, Block] = {}
    for number, block in enumerate(PYTHON):
        if block.document in RUN_ELSEWHERE:
            continue
        name = f"block_{number}.py"
        shown[name] = block
        (tmp_path / name).write_text(block.text)
    command = [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"), *[str(tmp_path / name) for name in shown]]
    finished = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    told = re.sub(r"\S*(block_\d+\.py)", lambda found: str(shown[found[1]]) if found[1] in shown else found[0], finished.stdout)
    assert finished.returncode == 0, told
    assert shown


def test_links_between_documents_lead_somewhere() -> None:
    broken = []
    for path in DOCUMENTS:
        prose = re.sub(r"^ *```.*?^ *```", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "", prose)):
            place, _, _ = target.partition("#")
            if place and "://" not in place and not place.startswith("mailto:") and not (path.parent / place).exists():
                broken.append(f"{path.relative_to(ROOT)}: {target}")
    assert not broken, "\n".join(broken)


def test_every_page_is_in_the_index() -> None:
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    missing = [
        str(path.relative_to(ROOT / "docs"))
        for path in (ROOT / "docs").rglob("*.md")
        if path.name != "README.md" and f"({path.relative_to(ROOT / 'docs')})" not in index
    ]
    assert not missing


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("```\nperdure list\n```", "nothing checks a block of the kind ''"),
        ("```rust\n```", "nothing checks a block of the kind 'rust'"),
        ("```console\nperdure lst\n```", "has no command 'lst'"),
        ("```console\n$ perdure list --colour\noutput\n```", "No such option"),
        ("```console\nperdure definitions aply x.yaml\n```", "has no command 'aply'"),
        ("```console\nperdure show note\n```", "too few arguments"),
        ("```console\nperdure show note a b\n```", "too many arguments"),
        ("```console\nmake tests\n```", "no target 'tests'"),
        ("```console\nFOO=1 frobnicate\n```", "the program 'frobnicate'"),
        ("```console\npython nowhere.py\n```", "there is no nowhere.py"),
        ("```python\ndef\n```", "invalid syntax"),
        ("```json\n{,}\n```", "Expecting"),
        ("```toml\na = \n```", "Invalid value"),
        ("```yaml\na: [\n```", "expected"),
    ],
)
def test_what_is_wrong_is_found(text: str, words: str) -> None:
    found = [fault for block in blocks_of("README.md", text) for fault in faults(block)]
    assert len(found) == 1
    assert words in found[0]


def test_commands_with_values_pass() -> None:
    assert not list(perdure_faults(["start", "book", "dune", "--input", '{"a": 1}']))
    assert not list(perdure_faults(["list", "--json"]))
