"""What becomes of markup."""

from examples.documents.cleaning import clean
from examples.documents.corpus import Kind


def text_of(raw: str, kind: Kind) -> str:
    return clean(raw, kind, "name").text


def test_docstrings_and_long_strings_of_a_module() -> None:
    long = "word " * 100
    source = "\n".join(
        [
            '"""Head."""',
            "class Thing:",
            '    """A thing."""',
            "    def run(self):",
            '        """Runs."""',
            '        x = "short"',
            f'TOPICS = {{"a": "{long}"}}',
        ]
    )
    assert text_of(source, "docstrings").split("\n\n") == ["Head.", "Thing", "A thing.", "run", "Runs.", long.strip()]


def test_html_without_scripts_and_with_its_title() -> None:
    page = "<html><head><title>A &amp; B</title><style>p{}</style></head><body><p>One<br>two</p><script>alert()</script><p>three</p>"
    cleaned = clean(page, "html", "name")
    assert cleaned.text == "One\n\ntwo\n\nthree"


def test_the_title_of_a_page() -> None:
    assert clean("<title>A &amp;\n B</title><p>x", "html", "name").title == "A & B"


def test_markdown_to_prose() -> None:
    raw = "# Head\n\n![badge](b.svg) A [link](http://x) and `code`\n\n```py\nx = 1\n```\n<!-- no -->"
    assert text_of(raw, "markup") == "Head\n\nA link and code \n\nx = 1"


def test_metadata_of_a_package_is_its_description() -> None:
    raw = "Metadata-Version: 2.4\nName: thing\nSummary: Does it\n\nThe *description*."
    cleaned = clean(raw, "markup", "name")
    assert (cleaned.title, cleaned.text) == ("thing: Does it", "The description .")


def test_control_characters_do_not_reach_a_terminal() -> None:
    assert text_of("a\x1b[31mb\x00c", "text") == "a [31mb c"
