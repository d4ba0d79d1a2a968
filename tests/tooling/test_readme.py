"""The README's program is the one that tests run."""

from pathlib import Path

from tools import readme


def test_a_stale_program_is_cut_anew_and_what_is_around_it_stays(tmp_path: Path) -> None:
    (tmp_path / "note.py").write_text("print('new')\n")
    text = "before\n<!-- begin note.py -->\n```python\nprint('old')\n```\n<!-- end note.py -->\nafter\n"
    made = readme.cut(text, tmp_path)
    assert made == text.replace("old", "new")
    assert readme.cut(made, tmp_path) == made


def test_the_readme_is_fresh_and_has_the_program_above_everything_else() -> None:
    text = readme.README.read_text()
    assert readme.cut(text) == text
    assert text.index("<!-- begin examples/note/note.py -->") < text.index("\n## ")
