"""The configuration: read once, all faults at once, documented by itself."""

import dataclasses
import os
import subprocess
import sys
from pathlib import Path

import pytest

from perdure_server import affinity, config
from perdure_server.config import Config, ConfigInvalid

ROOT = Path(__file__).parents[2]


def test_defaults_serve_loopback_on_the_fixed_port() -> None:
    found = config.read([], {})
    assert (found.address, found.port, found.insecure) == ("127.0.0.1", 7463, False)
    assert found == Config()


def test_a_flag_wins_over_a_variable_and_a_variable_over_the_default() -> None:
    environment = {"PERDURE_SERVER_PORT": "1", "PERDURE_SERVER_DATABASE": "other", "UNRELATED": "x"}
    found = config.read(["--port", "2"], environment)
    assert (found.port, found.database) == (2, "other")


def test_flags_take_values_both_ways_and_switches_stand_alone() -> None:
    found = config.read(["--port=0", "--insecure", "--address", "0.0.0.0", "--log-format=json"], {})
    assert (found.port, found.insecure, found.address, found.log_format) == (0, True, "0.0.0.0", "json")
    assert config.read(["--insecure=false"], {}).insecure is False


def test_all_faults_are_reported_at_once_each_with_its_name() -> None:
    environment = {
        "PERDURE_SERVER_PORT": "70000",
        "PERDURE_SERVER_MONGO_URL": "http://x",
        "PERDURE_SERVER_SESION_LEASE_MS": "1000",
        "PERDURE_SERVER_TRACE_SAMPLE_RATIO": "nan",
    }
    with pytest.raises(ConfigInvalid) as caught:
        config.read(["--drain-grace-ms", "-1", "--nonsense", "--log-level"], environment)
    named = {fault.partition(":")[0] for fault in caught.value.faults}
    assert named == {
        "PERDURE_SERVER_PORT",
        "PERDURE_SERVER_MONGO_URL",
        "PERDURE_SERVER_SESION_LEASE_MS",
        "PERDURE_SERVER_TRACE_SAMPLE_RATIO",
        "--drain-grace-ms",
        "--nonsense",
        "--log-level",
    }


@pytest.mark.parametrize(
    ("flag", "text"), [("--port", "1.5"), ("--port", "٣"), ("--insecure", "maybe"), ("--session-lease-ms", "2999"), ("--driver", "x")]
)
def test_values_out_of_range(flag: str, text: str) -> None:
    with pytest.raises(ConfigInvalid):
        config.read([f"{flag}={text}"], {})


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "localhost", "127.8.8.8"])
def test_loopback_needs_no_word(address: str) -> None:
    assert config.read(["--address", address], {}).address == address


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "10.0.0.1", "example.org"])
def test_every_other_address_needs_insecure(address: str) -> None:
    with pytest.raises(ConfigInvalid, match="--insecure"):
        config.read(["--address", address], {})
    assert config.read(["--address", address, "--insecure"], {}).address == address


def test_it_is_frozen_and_never_shows_credentials() -> None:
    found = config.read(["--mongo-url", "mongodb://user:secret@h/"], {})
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.port = 1  # type: ignore[misc]  # what is tested
    assert "secret" not in repr(found)


def test_the_environment_is_the_processes_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PERDURE_SERVER_PORT", "1234")
    assert config.read([]).port == 1234


def test_the_documentation_is_generated() -> None:
    assert (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8") == config.markdown()


def test_every_setting_is_documented() -> None:
    text = config.markdown()
    for item in dataclasses.fields(Config):
        assert f"`PERDURE_SERVER_{item.name.upper()}`" in text
        assert item.metadata["text"].endswith(".")


def test_the_command_prints_it_and_misuse_exits_with_2() -> None:
    printed = subprocess.run([sys.executable, "-m", "perdure_server", "config", "--markdown"], capture_output=True, text=True, check=True)
    assert printed.stdout == config.markdown()
    refused = subprocess.run(
        [sys.executable, "-m", "perdure_server", "serve", "--port", "x", "--what"], capture_output=True, text=True, check=False
    )
    assert refused.returncode == 2
    assert len(refused.stderr.splitlines()) == 2


def test_several_processes_need_redis_and_as_many_ports_for_metrics() -> None:
    url = "--redis-url=redis://h"
    assert config.read(["--processes=2", url, "--metrics-port=65534"], {}).processes == 2
    with pytest.raises(ConfigInvalid, match="--processes: more than one needs --redis-url"):
        config.read(["--processes=2"], {})
    with pytest.raises(ConfigInvalid, match="--metrics-port: 2 processes"):
        config.read(["--processes=2", url, "--metrics-port=65535"], {})
    with pytest.raises(ConfigInvalid, match="--processes: must be a whole number from 1 to 256"):
        config.read(["--processes=0"], {})


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux keeps a process to a CPU")
def test_a_server_keeps_to_a_cpu_that_it_may_use() -> None:
    mine = os.sched_getaffinity(0)
    assert config.read([f"--cpu-affinity={min(mine)}"], {}).cpu_affinity == str(min(mine))
    assert config.read(["--cpu-affinity=auto"], {}).cpu_affinity == "auto"
    told = ", ".join(str(number) for number in sorted(mine))
    with pytest.raises(ConfigInvalid, match=f"--cpu-affinity: this process may use the CPUs {told}, not 9999"):
        config.read([f"--cpu-affinity={min(mine)},9999"], {})
    with pytest.raises(ConfigInvalid, match="--cpu-affinity: must be auto, or numbers of CPUs"):
        config.read(["--cpu-affinity=1-3"], {})


def test_more_processes_than_cpus_take_them_in_turn() -> None:
    assert [affinity.cpu_of("auto", index, {0, 1, 5}) for index in range(4)] == [5, 1, 0, 5]
    assert [affinity.cpu_of("1,5", index, {0, 1, 5}) for index in range(3)] == [1, 5, 1]
    assert affinity.cpu_of("", 0, {0, 1, 5}) is None
    assert affinity.fault("auto", ()) == "can be chosen on Linux only"


def test_grpc_is_told_how_to_poll_before_it_is_imported_and_an_operator_is_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    program = "import sys, perdure_server.__main__; sys.exit('grpc' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
    monkeypatch.setenv("GRPC_EXPERIMENTS", "mine")
    config.let_grpc_poll()
    assert config.child_environment()["GRPC_EXPERIMENTS"] == "mine"
    monkeypatch.delenv("GRPC_EXPERIMENTS")
    config.let_grpc_poll()
    assert config.child_environment()["GRPC_EXPERIMENTS"] == "-event_engine_client,-event_engine_listener"
