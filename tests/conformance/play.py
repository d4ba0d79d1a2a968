"""Plays one case in one language."""

import secrets
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import ExitStack
from typing import Any, Final

import msgspec
import yaml
from msgspec import UNSET

from tests.conformance.case_file import Case, Step
from tests.conformance.cutter import Cutter
from tests.conformance.driver import ANSWER_SECONDS, Driver, DriverGone, Line
from tests.conformance.matching import ABSENT, Missing, at, differences, expected, filled
from tests.conformance.relay import Relay
from tests.conformance.scenery import Place
from tests.conformance.stage import OPERATOR, Stage
from tests.conformance.usual import fill_in, good_files

EVENT_SECONDS: Final = 30.0
UNTIL_SECONDS: Final = 30.0
PAUSE_SECONDS: Final = 0.05
TRANSCRIPT_LINES: Final = 40
NAMED: Final = ("client", "worker", "watch")
OPENS: Final = {"open": "client", "work": "worker", "watch": "watch"}


class PlainDumper(yaml.SafeDumper):
    """Writes everything out: a definition file for all languages has no anchors."""

    def ignore_aliases(self, data: object) -> bool:
        """Nothing is an alias."""
        del data
        return True


class CaseFailed(AssertionError):
    """A step went otherwise than the case says."""


class Play:
    """One case, one language, one namespace."""

    def __init__(self, case: Case, language: str, stage: Stage) -> None:
        self._case = case
        self._language = language
        self._stage = stage
        self._end = ExitStack()
        self._serial = secrets.token_hex(3)
        self._peer: Driver | None = None
        self._cutter: Cutter | None = None
        self._relay: Relay | None = None
        self._asked: dict[str, tuple[Driver, Future[Line]]] = {}
        self._opened: dict[str, set[tuple[str, str]]] = {}
        self._place: Place | None = None
        self._used: dict[str, Driver] = {}
        self.variables: dict[str, Any] = {"namespace": f"c-{language}-{self._serial}"}

    def run(self) -> None:
        """Plays it. Raises CaseFailed."""
        try:
            self._place = self._stage.scenery.place(self._case.server, self._end)
            self.variables["address"] = self._place.address
            wanted = self._case.apply
            for name in self._case.definitions if wanted is True else wanted or ():
                self._ask_ok(self._driver("operator"), {"do": "apply", "definition": self._text(name), "activate": True})
            for step in self._case.steps:
                self._step(step)
        except DriverGone as gone:
            raise CaseFailed(f"{gone}\n{self._transcript()}") from None
        finally:
            self._close()

    # ---- steps

    def _step(self, step: Step) -> None:
        try:
            getattr(self, f"_{step.verb}_step")(step)
        except (AssertionError, Missing, TimeoutError) as error:
            if isinstance(error, CaseFailed):
                raise
            told = yaml.safe_dump(_told(step), sort_keys=False, allow_unicode=True, width=120)[:3000]
            raise CaseFailed(f"{str(error) or type(error).__name__}\nin this step:\n{told}\n{self._transcript()}") from None

    def _do_step(self, step: Step) -> None:
        for number in range(1, step.times + 1):
            if step.times > 1:
                self.variables["n"] = number
            if step.until:
                self._do_until(step)
                continue
            driver, asked = self._ask(step)
            if step.later:
                self._asked[step.later] = driver, asked
            else:
                self._judge(step, driver.answer(asked))

    def _do_until(self, step: Step) -> None:
        end = time.monotonic() + UNTIL_SECONDS
        while True:
            driver, asked = self._ask(step)
            answer = driver.answer(asked)
            try:
                self._judge(step, answer)
            except AssertionError:
                if time.monotonic() > end:
                    raise
                threading.Event().wait(PAUSE_SECONDS)
            else:
                return

    def _answer_step(self, step: Step) -> None:
        driver, asked = self._asked.pop(step.answer)
        self._judge(step, driver.answer(asked))

    def _event_step(self, step: Step) -> None:
        is_wanted = self._wanted(step.event, step.where)
        event = self._driver(step.by).event(is_wanted, EVENT_SECONDS)
        assert event is not None, f"no such event came within {EVENT_SECONDS:.0f} s"
        found = differences(expected(step.like, self._lookup), event)
        assert not found, "\n".join(found)
        self._keep(step, event)

    def _no_event_step(self, step: Step) -> None:
        found = self._driver(step.by).unseen(self._wanted(step.no_event, step.where))
        assert found is None, f"it came: {found}"

    def _proxy_step(self, step: Step) -> None:
        assert self._cutter is not None, "no client uses ${proxy}"
        getattr(self._cutter, step.proxy)()

    def _relay_step(self, step: Step) -> None:
        assert self._relay is not None, "no client uses ${relay}"
        getattr(self._relay, step.relay)()

    def _server_step(self, step: Step) -> None:
        assert self._place is not None
        assert self._case.server in {"alone", "own_store"}, "only a case's own server can be stopped"
        getattr(self._place.process, step.server)()

    def _store_step(self, step: Step) -> None:
        assert self._place is not None
        assert self._place.store is not None, "only a case's own store can be stopped"
        getattr(self._place.store, step.store)()

    def _damage_step(self, step: Step) -> None:
        assert self._place is not None
        self._place.damage(step.damage["collection"], step.damage["set"])

    def _driver_step(self, step: Step) -> None:
        driver = self._driver(step.by)
        driver.kill()
        self._opened.pop(step.by, None)
        self._used.pop(step.by)

    def _advance_step(self, step: Step) -> None:
        request: Line = {"toNextDue": True} if step.advance == "next" else {"by": step.advance}
        self._ask_ok(self._driver("operator"), {"do": "call", "rpc": "perdure.testing.v1.TestService/AdvanceTime", "request": request})

    def _repeat_step(self, step: Step) -> None:
        for number in range(1, step.times + 1):
            for inner in step.repeat:
                self.variables["n"] = number
                self._step(inner)

    def _each_peer_step(self, step: Step) -> None:
        for number, peer in enumerate(self._stage.peers(self._language), 1):
            self.variables["peer"] = number
            self._peer = peer
            self._opened.pop("peer", None)
            for inner in step.each_peer:
                self._step(inner)
            self._close_driver("peer", peer)

    # ---- requests and answers

    def _ask(self, step: Step) -> tuple[Driver, Future[Line]]:
        driver = self._driver(step.by)
        fields = filled(step.with_, self._lookup)
        self._ready_client(step.by, driver, step.do, fields)
        for name, value in step.with_.items():
            if value == ABSENT:
                fields.pop(name, None)  # what is usual, too
        return driver, driver.ask(self._named({"do": step.do} | fields))

    def _ask_ok(self, driver: Driver, fields: Line, role: str = "operator") -> Line:
        self._ready_client(role, driver, fields["do"], fields)
        answer = driver.answer(driver.ask(self._named(fields)))
        assert "ok" in answer, f"{fields['do']}: {answer}"
        return answer

    def _judge(self, step: Step, answer: Line) -> None:
        if step.error is not UNSET:
            assert "error" in answer, f"it succeeded: {answer}"
            found = differences(expected(step.error, self._lookup), answer["error"])
        else:
            assert "ok" in answer, f"it failed: {answer['error']}"
            found = [] if step.ok is UNSET else differences(expected(step.ok, self._lookup), answer["ok"])
        assert not found, "\n".join(found)
        self._keep(step, answer.get("ok") or answer.get("error"))

    def _keep(self, step: Step, found: object) -> None:
        self.variables |= {name: at(path, found) for name, path in step.keep.items()}

    def _ready_client(self, role: str, driver: Driver, request: str, fields: Line) -> None:
        """Gives the request what is usual, and its client, which is opened if need be."""
        fill_in(request, fields, self._case.definitions)
        if "definition" in fields:
            fields["definition"] = self._text(fields["definition"])
        if "definitions" in fields:
            fields["definitions"] = [self._text(name) for name in fields["definitions"]]
        client = fields.get("client")
        if request == "open":
            for name, value in self._open_with().items():
                fields.setdefault(name, value)
        elif client is not None and ("client", client) not in self._opened.get(role, ()):
            self._ask_ok(driver, {"do": "open", "client": client}, role)
        if request == "close":
            self._opened[role].discard(("client", client))
        elif request in OPENS:
            self._opened.setdefault(role, set()).add((OPENS[request], fields[OPENS[request]]))

    def _open_with(self) -> Line:
        assert self._place is not None
        return {"address": self._place.address, "namespace": self.variables["namespace"], **self._place.open_with}

    def _named(self, fields: Line) -> Line:
        """Names are this case's own, as drivers outlive cases."""
        return {name: f"{self._serial}.{value}" if name in NAMED else value for name, value in fields.items()}

    def _wanted(self, kind: str, where: Line) -> Callable[[Line], bool]:
        fields = self._named(expected(where, self._lookup))

        def is_wanted(line: Line) -> bool:
            name = line.get("worker") or line.get("watch")
            is_ours = name is None or name.startswith(f"{self._serial}.")
            return is_ours and line["event"] == kind and not differences(fields, line)

        return is_wanted

    def _driver(self, role: str) -> Driver:
        if role == "peer":
            assert self._peer is not None, "`by: peer` belongs into each_peer"
            return self._peer
        if role not in self._used:
            language = OPERATOR if role == "operator" else self._language
            self._used[role] = self._stage.driver(language, role)
        return self._used[role]

    # ---- variables

    def _lookup(self, path: str) -> object:
        if path.startswith("proxy"):
            return self._proxied()
        if path.startswith("relay"):
            return self._relayed()
        if path == "file":
            return at(str(self.variables["n"] - 1), good_files())
        if path.partition(".")[0] in {"tls", "tokens", "token_file", "keys"}:
            return at(path, self._stage.scenery.doors.variables)
        return at(path, self.variables)

    def _proxied(self) -> str:
        assert self._place is not None
        if self._cutter is None:
            self._cutter = Cutter(int(self._place.address.rpartition(":")[2]))
        return self._cutter.address

    def _relayed(self) -> str:
        assert self._place is not None
        if self._relay is None:
            self._relay = Relay(int(self._place.address.rpartition(":")[2]))
        return self._relay.address

    def _text(self, name: str) -> str:
        """The text of a definition that the case names; any other text is one itself."""
        if name not in self._case.definitions:
            return name
        document = {"workflow_type": name} | filled(self._case.definitions[name], self._lookup)
        return yaml.dump(document, Dumper=PlainDumper, sort_keys=False, allow_unicode=True)

    # ---- the end

    def _close(self) -> None:
        with self._end:
            if self._cutter is not None:
                self._end.callback(self._cutter.close)
            if self._relay is not None:
                self._end.callback(self._relay.close)
            for role, driver in self._used.items():
                self._end.callback(driver.forget)
                self._end.callback(self._close_driver, role, driver)
            if self._peer is not None:
                self._end.callback(self._close_driver, "peer", self._peer)

    def _close_driver(self, role: str, driver: Driver) -> None:
        """Ends what the case has left open: workers without grace, watches, clients."""
        left = self._opened.pop(role, set())
        ends: dict[str, Line] = {"worker": {"do": "stop", "hurry": True}, "watch": {"do": "unwatch"}, "client": {"do": "close"}}
        if driver.is_gone:
            return
        for kind, end in ends.items():
            asked = [driver.ask(self._named(end | {kind: name})) for found, name in sorted(left) if found == kind]
            for answer in asked:
                driver.answer(answer, ANSWER_SECONDS)  # stopped already: an error of type `usage`, which is fine

    def _transcript(self) -> str:
        drivers = {**self._used, **({"peer": self._peer} if self._peer is not None else {})}
        parts = [
            f"--- {role} ({driver.language}), its last lines:\n" + "\n".join([*driver.transcript][-TRANSCRIPT_LINES:])
            for role, driver in drivers.items()
        ]
        return "\n".join(parts)


def _told(step: Step) -> Any:
    """The step as its file has it."""
    return msgspec.to_builtins(step)
