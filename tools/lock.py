"""Writes requirements/*.lock, the only versions that set-up, CI and the image install. Run it by `make lock`.

dev.lock is resolved first and constrains the others but peers.lock, so that a package has one version everywhere. Locks carry hashes and
no addresses: they install from whatever index the machine is set up for. Raise a pin: `make lock ARGS="--upgrade-package grpcio"`.
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
REQUIREMENTS = ROOT / "requirements"
OURS = ("perdure", "perdure-server")

SERVER = ("pyproject.toml", "clients/python/pyproject.toml")
EMBEDDED = (*SERVER, "--extra=embedded")
DEMO = (*EMBEDDED, "requirements/demo.in")
SAMPLES = (*DEMO, "requirements/samples.in")
DEV = (*SAMPLES, "requirements/dev.in")

# Lock -> what it holds, as arguments of `uv pip compile`. The first one is resolved freely.
LOCKS: dict[str, tuple[str, ...]] = {
    "dev": DEV,
    "samples": SAMPLES,
    "demo": DEMO,
    "embedded": EMBEDDED,
    "server": SERVER,
    "client": ("clients/python/pyproject.toml",),
    "build": ("requirements/build.in",),
    "installer": ("requirements/installer.in",),
    "peers": ("requirements/peers.in",),
}
# Other products in an environment of their own: their versions need not agree with ours.
APART = frozenset({"dev", "peers"})

COMPILE = ("pip", "compile", "--quiet", "--universal", "--python-version=3.11", "--generate-hashes", "--no-annotate", "--no-emit-index-url")
HEADER = "# Made by `make lock`; do not edit. Versions and hashes only: no index address.\n"


def lock(name: str, inputs: tuple[str, ...], options: list[str]) -> None:
    """Resolves one lock; CalledProcessError when no versions fit."""
    output = REQUIREMENTS / f"{name}.lock"
    constraint = () if name in APART else ("--constraint", str(REQUIREMENTS / "dev.lock"))
    leave_out = [f"--no-emit-package={package}" for package in OURS]
    uv = Path(sys.executable).with_name("uv")
    subprocess.run([uv, *COMPILE, "--no-header", *leave_out, *constraint, *options, *inputs, "--output-file", output], cwd=ROOT, check=True)
    output.write_text(HEADER + output.read_text().removeprefix(HEADER))


def main() -> None:
    """Writes every lock; arguments go to `uv pip compile` of dev.lock, the others follow it."""
    for name, inputs in LOCKS.items():
        lock(name, inputs, sys.argv[1:] if name == "dev" else [])
        print(f"requirements/{name}.lock")


if __name__ == "__main__":
    main()
