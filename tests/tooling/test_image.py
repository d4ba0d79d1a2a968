"""The image's two RUN lines in an empty Debian of the same release: no Docker engine is needed, and none has built it here.

What Docker would add is not tested: layers, its ENTRYPOINT and its HEALTHCHECK schedule. Run by `make image`.
"""

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import RunningServer
from tests.processes import ServerProcess, free_port, missing_server

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "Dockerfile").read_text()
SERVICE_USER = "10001:10001"
SERVER_PYTHON = "/opt/perdure/bin/python"
CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
BARE = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "PIP_CERT": CERTIFICATES}

pytestmark = [pytest.mark.image, pytest.mark.timeout(600)]


def run(*command: str, network: bool = True) -> str:
    """Runs as root; without a network in a namespace that has not even a loopback device."""
    cut = [] if network else ["unshare", "--net"]
    done = subprocess.run([*cut, *command], env=BARE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert done.returncode == 0, f"{shlex.join(command)}\n{done.stdout[-4000:]}"
    return done.stdout


def mirror() -> str:
    """The Debian mirror that this machine uses; no address of one is written here."""
    targets = run("apt-get", "indextargets", "--format", "$(SITE) $(RELEASE) $(COMPONENT)")
    found = re.search(r"^(\S+) bookworm main$", targets, re.MULTILINE)
    if found is None:
        missing_server("no mirror of Debian bookworm is set up on this machine")
    return found[1]


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """An empty Debian bookworm with Python, in which the steps of the Dockerfile have been run."""
    if os.geteuid() != 0 or shutil.which("debootstrap") is None:
        missing_server("needs root and debootstrap")
    root = tmp_path_factory.mktemp("image") / "root"
    run("debootstrap", "--variant=minbase", "--include=python3,python3-venv", "bookworm", str(root), mirror())
    copy_what_the_dockerfile_copies(root / "src")
    shutil.copy("/etc/resolv.conf", root / "etc")
    shutil.copy(CERTIFICATES, root / CERTIFICATES.lstrip("/"))
    run("chroot", str(root), *run_lines()[0])
    for source, target in re.findall(r"type=bind,source=(\S+),target=/(\S+)", DOCKERFILE):
        shutil.copy(ROOT / source, root / target)
    run("chroot", str(root), *run_lines()[1], network=False)
    yield root
    shutil.rmtree(root.parent)


def copy_what_the_dockerfile_copies(destination: Path) -> None:
    for *sources, target in (line.split() for line in re.findall(r"^COPY (?!--)(.*)$", DOCKERFILE, re.MULTILINE)):
        for source in sources:
            if (ROOT / source).is_dir():
                shutil.copytree(ROOT / source, destination / target, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
            else:
                (destination / target).mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / source, destination / target)


def run_lines() -> list[list[str]]:
    """The command of every RUN, without its mounts."""
    lines = re.findall(r"^RUN (.*)$", DOCKERFILE.replace("\\\n", " "), re.MULTILINE)
    commands = [[word for word in shlex.split(line) if not word.startswith("--mount")] for line in lines]
    return [[command[0] if command[0].startswith("/") else f"/src/{command[0]}", *command[1:]] for command in commands]


def inside(root: Path, *command: str) -> list[str]:
    """A command line that runs in the image as the service's user."""
    return ["chroot", f"--userspec={SERVICE_USER}", str(root), *command]


def test_the_service_may_write_nothing_of_what_is_installed(image: Path) -> None:
    assert run(*inside(image, "find", "/opt/perdure", "-writable", "-not", "-type", "l")) == ""


def test_there_is_no_installer_and_no_compiler_inside(image: Path) -> None:
    assert [path.name for path in (image / "opt/perdure/bin").glob("pip*")] == []
    assert shutil.which("gcc", path=str(image / "usr/bin")) is None


def test_serves_and_is_healthy_and_ends_on_sigterm(
    image: Path, store_process: RunningServer, redis_process: RunningServer, database_name: str
) -> None:
    port = free_port()
    settings = BARE | {
        "PERDURE_SERVER_MONGO_URL": store_process.url,
        "PERDURE_SERVER_DATABASE": database_name,
        "PERDURE_SERVER_REDIS_URL": redis_process.url,
        "PERDURE_SERVER_PORT": str(port),
    }
    command = inside(image, SERVER_PYTHON, "-m", "perdure_server", "serve")
    server = ServerProcess(lambda _: command, "serving on", image / "tmp", port, settings=settings)
    server.start()
    try:
        health = inside(image, SERVER_PYTHON, "-m", "perdure_server", "health", "--port", str(port))
        run(*health)
    finally:
        server.stop()
    assert subprocess.run(health, env=BARE, capture_output=True, check=False).returncode != 0
