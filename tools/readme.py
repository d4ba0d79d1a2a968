"""Cuts README.md's programs from the examples that tests run. `--check` writes nothing and fails if the README is stale.

A program stands between `<!-- begin PATH -->` and `<!-- end PATH -->`, PATH from the root of the repository.
"""

import re
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
README: Final = ROOT / "README.md"
CUT: Final = re.compile(r"<!-- begin (?P<path>\S+) -->\n.*?<!-- end (?P=path) -->", re.DOTALL)
LANGUAGES: Final = {".py": "python", ".go": "go", ".ts": "typescript", ".java": "java", ".sh": "console"}


def cut(text: str, root: Path = ROOT) -> str:
    """The document with each of its programs as its file has it now. Raises FileNotFoundError."""

    def program(found: re.Match[str]) -> str:
        path = found["path"]
        content = (root / path).read_text().strip("\n")
        return f"<!-- begin {path} -->\n```{LANGUAGES.get(Path(path).suffix, '')}\n{content}\n```\n<!-- end {path} -->"

    return CUT.sub(program, text)


def main() -> int:
    """Writes README.md, or with `--check` compares it; 1 if it is stale or has no program."""
    text = README.read_text()
    if not CUT.search(text):
        print(f"{README.name}: has no `<!-- begin PATH -->` ... `<!-- end PATH -->`")
        return 1
    made = cut(text)
    if "--check" in sys.argv[1:]:
        if made != text:
            print(f"{README.name} is stale: run `python tools/readme.py`")
        return int(made != text)
    README.write_text(made)
    return 0


if __name__ == "__main__":
    sys.exit(main())
