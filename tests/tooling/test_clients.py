"""The table of client languages, and the tool that runs its commands."""

import shlex
import sys
from pathlib import Path

import pytest

from tests.conftest import Eventually
from tests.processes import is_alive
from tools.clients import __main__ as tool
from tools.clients.execution import ROOT, Place, VerbFailed, missing_tool, perform, words
from tools.clients.languages import LANGUAGES, VERBS, Command, Language, Tool


def python(program: str) -> Command:
    """A command that runs a line of Python."""
    return ("{python}", "-c", program)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    (tmp_path / "clients/toy").mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "9.8.7"\n')
    (tmp_path / "proto/perdure/v1").mkdir(parents=True)
    for name in ("wait", "a_service"):
        (tmp_path / f"proto/perdure/v1/{name}.proto").touch()
    return Place(tmp_path)


def done(language: Language, *verbs: str, place: Place, in_ci: bool = False) -> tool.Outcome:
    order = tool.Order(tuple(verb for verb in VERBS if verb in verbs), check=False, in_ci=in_ci)
    return tool.one(language, order, lambda _line: None, place)


def test_every_directory_of_a_client_has_a_row_and_every_row_has_its_verbs() -> None:
    directories = {path.name for path in (ROOT / "clients").iterdir() if path.is_dir() and any(path.iterdir())}
    assert directories <= LANGUAGES.keys()
    for name in directories:
        row = LANGUAGES[name]
        assert row.verbs.get("samples"), f"{name} has no samples"
        assert row.is_sample or not set(VERBS) - row.verbs.keys(), f"{name} lacks a verb"


def test_words_are_filled_in(place: Place, tmp_path: Path) -> None:
    command = ("{protoc}", "--x_out={out}/gen", "{protos}", "{services}", "{root}/{name}", "{version}", "{other}")
    filled = words(command, Language("toy"), place, Path("/out"))
    assert filled[:3] == [sys.executable, "-m", "grpc_tools.protoc"]
    assert f"-I{tmp_path}/proto" in filled
    rest = ["--x_out=/out/gen", "perdure/v1/a_service.proto", "perdure/v1/wait.proto", "perdure/v1/a_service.proto"]
    assert filled[5:] == [*rest, f"{tmp_path}/toy", "9.8.7", "{other}"]


def test_a_missing_tool_is_a_line_at_home_and_a_failure_in_ci(place: Place) -> None:
    toy = Language("toy", tools=(Tool("no-such-program", "from nowhere", (1, 2)),), verbs={"build": (python("1/0"),)})
    expected = "needs no-such-program 1.2 or later, which is not on PATH (from nowhere)"
    assert done(toy, "build", place=place)[1:3] == ("skipped", expected)
    assert done(toy, "build", place=place, in_ci=True)[1:3] == ("FAILED", expected)


def test_a_tool_that_is_too_old_is_a_missing_one() -> None:
    old = Language("toy", tools=(Tool("bash", "from Debian", (99,)),))
    assert missing_tool(old).startswith("needs bash 99 or later, and /")
    assert not missing_tool(Language("toy", tools=(Tool("bash", "from Debian", (3, 1)),)))


def test_a_language_stops_at_its_first_failure_and_says_which_it_was(place: Place) -> None:
    after = python("open('after', 'w')")
    toy = Language("toy", verbs={"build": (python("import sys; sys.exit(3)"), after), "test": (after,)})
    outcome = done(toy, "build", "test", place=place)
    assert outcome.result == "FAILED"
    assert outcome.text == "build: `{python} -c import sys; sys.exit(3)` ended with 3"
    assert not list(place.of(toy).iterdir())


def test_commands_run_in_the_language_s_directory_and_know_the_server(place: Place) -> None:
    toy = Language("toy", verbs={"test": (python("import os; open('found', 'w').write(os.environ['PERDURE_TEST_SERVER'])"),)})
    assert done(toy, "test", "lint", place=place)[1:3] == ("passed", "test, no lint")
    assert (place.of(toy) / "found").read_text() == str(Path(sys.executable).with_name("perdure"))


async def test_what_a_command_left_running_ends_with_it(place: Place, eventually: Eventually) -> None:
    sleeper = "import subprocess; print(subprocess.Popen(['sleep', '60'], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).pid)"
    lines: list[str] = []
    perform(Language("toy", verbs={"test": (python(sleeper),)}), "test", lines.append, place)
    await eventually(lambda: not is_alive(int(lines[-1])), what="it is killed")


def test_stale_generated_code_is_found_without_touching_it(place: Place) -> None:
    write = "import pathlib; pathlib.Path(r'{out}/gen/a').write_text('new'); pathlib.Path(r'{out}/one').write_text('1')"
    toy = Language("toy", verbs={"generate": (python(write),)}, generated=("gen", "one"))
    directory = place.of(toy)
    (directory / "gen").mkdir()
    (directory / "gen/a").write_text("old")
    (directory / "gen/gone").touch()
    (directory / "one").write_text("1")
    with pytest.raises(VerbFailed, match=r"commit: gen/a, gen/gone$"):
        perform(toy, "generate", lambda _line: None, place, check=True)
    assert (directory / "gen/a").read_text() == "old"
    (directory / "gen/gone").unlink()
    perform(toy, "generate", lambda _line: None, place)
    perform(toy, "generate", lambda _line: None, place, check=True)


def test_dependencies_are_installed_once_for_each_state_of_the_locks(place: Place) -> None:
    count = python("open('count', 'a').write('x')")
    toy = Language("toy", install=(count,), locks=("lock",), verbs={"build": (python("pass"),)})
    directory = place.of(toy)
    for content, installs in (("1", "x"), ("1", "x"), ("2", "xx")):
        (directory / "lock").write_text(content)
        assert done(toy, "build", place=place).result == "passed"
        assert (directory / "count").read_text() == installs


def test_several_at_once_are_each_printed_in_one_piece(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    (place.root / "clients/other").mkdir()
    rows = [Language(name, verbs={"test": (python(f"print('{name} 1'); print('{name} 2')"),)}) for name in ("toy", "other")]
    outcomes = tool.several(rows, tool.Order(("test",), check=False, in_ci=False), 2, place)
    assert [outcome.language for outcome in outcomes] == ["toy", "other"]
    printed = capsys.readouterr().out
    assert "toy 1\ntoy 2\n" in printed
    assert "other 1\nother 2\n" in printed


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("biuld go", "unknown: biuld; verbs are generate, build,"),
        ("go", "no verb; verbs are"),
        ("build --check go", "--check goes with generate alone"),
    ],
)
def test_a_wrong_word_is_named(line: str, complaint: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["tools.clients", *shlex.split(line)])
    with pytest.raises(SystemExit):
        tool.main()
    assert complaint in capsys.readouterr().err


def test_the_list_names_every_row(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["tools.clients", "list"])
    assert tool.main() == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(LANGUAGES)
