"""Files as they lie on disk to plain text: docstrings out of Python source, HTML and Markdown or reStructuredText to prose."""

import ast
import email.parser
import html
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path

from examples.documents.corpus import Document, Kind

LONG_STRING = 400  # a literal of this length in a module is a text, not a value
SILENT_TAGS = frozenset({"script", "style", "head", "nav"})
BLOCK_TAGS = frozenset({"p", "div", "section", "article", "li", "dt", "dd", "tr", "pre", "br", "h1", "h2", "h3", "h4", "h5", "h6", "table"})

# Markup that carries no words, and what stays of it. Order matters: images before links, fences before inline code.
MARKUP: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"<!--.*?-->", re.DOTALL), " "),
    (re.compile(r"^\s*(```|~~~).*$", re.MULTILINE), ""),
    (re.compile(r"!\[([^\]]*)\]\([^)]*\)"), " "),
    (re.compile(r"\[([^\]]+)\]\([^)]*\)"), r"\1"),
    (re.compile(r"^\.\. (image|figure|raw|toctree|contents|code-block|code|highlight)::.*$", re.MULTILINE), ""),
    (re.compile(r"^\s+:[a-z-]+:.*$", re.MULTILINE), ""),
    (re.compile(r"^\.\. .*?: ?", re.MULTILINE), ""),
    (re.compile(r":[a-z:]+:`([^`<]+)[^`]*`"), r"\1"),
    (re.compile(r"`([^`<]+?)\s*<[^`>]+>`_{0,2}"), r"\1"),
    (re.compile(r"</?[a-zA-Z][^>]*>"), " "),
    (re.compile(r"https?://\S+"), " "),
    (re.compile(r"^[ \t]*[=~^\-*#\"'+|]{3,}[ \t]*$", re.MULTILINE), ""),
    (re.compile(r"^#{1,6} +", re.MULTILINE), ""),
    (re.compile(r"[*`|]+"), " "),
)
BLANK_LINES = re.compile(r"\n\s*\n\s*")
SPACES = re.compile(r"[ \t\f\v]+")


@dataclass(frozen=True)
class Clean:
    """Plain text of one document and a title for it."""

    title: str
    text: str


def read(document: Document) -> str:
    """The file as text; bytes that are not UTF-8 become the replacement character.

    Raises:
        OSError: the file is gone or not readable.
    """
    return Path(document.path).read_text(encoding="utf-8", errors="replace")


def clean(raw: str, kind: Kind, name: str) -> Clean:
    """Plain text of `raw`, and its title: the first heading that it has, else `name`."""
    match kind:
        case "docstrings":
            return Clean(name, _folded(_docstrings(raw)))
        case "html":
            parser = _Prose()
            parser.feed(raw)
            parser.close()
            return Clean(parser.title or name, _folded("".join(parser.pieces)))
        case "markup":
            return _markup(raw, name)
        case "text":
            return Clean(name, _folded(raw))


_PARSING = threading.Lock()  # Python 3.11 counts the parser's recursion per process: two threads at once end in a SystemError


def _docstrings(source: str) -> str:
    """Docstrings of a module, its classes and functions, each under its name, and long string literals (texts kept in a table)."""
    with _PARSING:
        tree = ast.parse(source)
    return "\n\n".join(_texts_of(tree))


def _texts_of(node: ast.AST) -> Iterator[str]:
    """In the order of the source. Statements only: nine in ten nodes of a tree are parts of expressions."""
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        text = ast.get_docstring(node)
        if text:
            yield text if isinstance(node, ast.Module) else f"{node.name}\n\n{text}"
    elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict):
        yield from (value.value for value in node.value.values if _is_long_text(value))  # type: ignore[attr-defined]  # narrowed by the filter
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt | ast.ExceptHandler):
            yield from _texts_of(child)


def _is_long_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) >= LONG_STRING


def _markup(raw: str, name: str) -> Clean:
    """METADATA files carry headers before their description; other files are all description."""
    title = name
    if raw.startswith("Metadata-Version:"):
        message = email.parser.HeaderParser().parsestr(raw)
        raw = str(message.get_payload()) or str(message.get("Description", ""))
        title = f"{message['Name']}: {message['Summary']}"
    for pattern, kept in MARKUP:
        raw = pattern.sub(kept, raw)
    return Clean(title, _folded(html.unescape(raw)))


def _folded(text: str) -> str:
    """At most one blank line and one space in a row; what a control character would do to a terminal it cannot do."""
    text = "".join(character if character.isprintable() or character in "\n\t" else " " for character in text)
    return BLANK_LINES.sub("\n\n", SPACES.sub(" ", text)).strip()


class _Prose(HTMLParser):
    """Text of an HTML page, a blank line between blocks, without scripts, styles and navigation."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self.title = ""
        self._silent = 0
        self._in_title = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in SILENT_TAGS:
            self._silent += 1
        if tag in BLOCK_TAGS:
            self.pieces.append("\n\n")
        self._in_title = tag == "title"

    def handle_endtag(self, tag: str) -> None:
        if tag in SILENT_TAGS:
            self._silent = max(0, self._silent - 1)
        if tag in BLOCK_TAGS:
            self.pieces.append("\n\n")
        self._in_title = False

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title = " ".join((self.title + data).split())
        elif not self._silent:
            self.pieces.append(data)
