"""Generates the Python code of the wire from proto/, checks that it is fresh, and lints the protos.

    python tools/gen.py              write clients/python/perdure/**/*_pb2*.py[i]
    python tools/gen.py --check      fail if what is committed differs from what would be written
    python tools/gen.py --lint       buf lint, buf format and buf breaking against proto/baseline.binpb
    python tools/gen.py --baseline   renew proto/baseline.binpb, on purpose: the wire promises what is in it

The proto path is the Python import path, so the generated code is used as it comes: nothing here edits text.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from importlib.resources import files
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROTO_DIRECTORY = ROOT / "proto"
PYTHON_DIRECTORY = ROOT / "clients" / "python"
BASELINE = PROTO_DIRECTORY / "baseline.binpb"

# The npm package carries the binary, so that no remote schema registry is asked for anything.
BUF_PACKAGE = "@bufbuild/buf@1.75.0"

GENERATED_SUFFIXES = ("_pb2.py", "_pb2.pyi", "_pb2_grpc.py", "_pb2_grpc.pyi")


def own_protos() -> list[str]:
    """Paths of our protos, relative to proto/; google/rpc comes from googleapis-common-protos in Python."""
    return sorted(path.relative_to(PROTO_DIRECTORY).as_posix() for path in (PROTO_DIRECTORY / "perdure").rglob("*.proto"))


def service_protos() -> list[str]:
    """Those that declare a service: only they get grpc stubs, so that no empty modules are committed."""
    return [path for path in own_protos() if path.endswith("_service.proto")]


def generate(target: Path) -> None:
    """Writes all generated modules below `target`. Raises SystemExit with protoc's own words if it fails."""
    run_protoc([f"--python_out={target}", f"--mypy_out={target}"], own_protos())
    run_protoc([f"--grpc_python_out={target}", f"--mypy_grpc_out={target}"], service_protos())


def run_protoc(outputs: list[str], protos: list[str]) -> None:
    """Runs the protoc of grpcio-tools, which brings google/protobuf/*.proto along."""
    includes = [f"-I{PROTO_DIRECTORY}", f"-I{files('grpc_tools') / '_proto'}"]
    # Named by path: the scripts of mypy-protobuf lie beside the interpreter, which need not be on PATH.
    plugins = [f"--plugin={name}={Path(sys.executable).with_name(name)}" for name in ("protoc-gen-mypy", "protoc-gen-mypy_grpc")]
    command = [sys.executable, "-m", "grpc_tools.protoc", *includes, *plugins, *outputs, *protos]
    finished = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if finished.returncode != 0:
        raise SystemExit(f"protoc failed:\n{finished.stdout}")


def generated_files(directory: Path) -> dict[str, bytes]:
    """Path relative to `directory` to content, of every generated module below it."""
    return {
        path.relative_to(directory).as_posix(): path.read_bytes()
        for path in sorted((directory / "perdure").rglob("*"))
        if path.name.endswith(GENERATED_SUFFIXES)
    }


def write() -> int:
    """Replaces the committed modules; those whose proto is gone are removed."""
    with tempfile.TemporaryDirectory() as scratch:
        generate(Path(scratch))
        wanted = generated_files(Path(scratch))
    for name in generated_files(PYTHON_DIRECTORY).keys() - wanted.keys():
        (PYTHON_DIRECTORY / name).unlink()
    for name, content in wanted.items():
        path = PYTHON_DIRECTORY / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_bytes() != content:
            path.write_bytes(content)
    print(f"{len(wanted)} files in {PYTHON_DIRECTORY.relative_to(ROOT)}")
    return 0


def check() -> int:
    """Compares the committed modules with freshly generated ones."""
    with tempfile.TemporaryDirectory() as scratch:
        generate(Path(scratch))
        wanted = generated_files(Path(scratch))
    committed = generated_files(PYTHON_DIRECTORY)
    stale = sorted(name for name in wanted.keys() | committed.keys() if wanted.get(name) != committed.get(name))
    if stale:
        print("stale generated code; run `python tools/gen.py` and commit:", *stale, sep="\n  ")
        return 1
    print(f"{len(wanted)} generated files are fresh")
    return 0


def buf(*arguments: str) -> int:
    """Runs buf in proto/; its exit code."""
    return subprocess.run(["npx", "--yes", BUF_PACKAGE, *arguments], cwd=PROTO_DIRECTORY, check=False).returncode


def lint() -> int:
    """Lints the protos and compares them with the baseline. Without npm: a clear skip, but a failure in CI."""
    if shutil.which("npx") is None:
        in_ci = bool(os.environ.get("CI"))  # noqa: TID251 -- a tool, not the server: only CI must not skip
        print(f"{'FAILED' if in_ci else 'skipped'}: buf needs npx (Node), which is not on PATH")
        return 1 if in_ci else 0
    verdicts = {
        "buf lint": buf("lint"),
        "buf format": buf("format", "--diff", "--exit-code"),
        "buf breaking": buf("breaking", "--against", BASELINE.name),
    }
    for name, code in verdicts.items():
        print(f"{name}: {'ok' if code == 0 else 'FAILED'}")
    return max(verdicts.values())


def baseline() -> int:
    """Takes the protos as they are for what is promised from now on."""
    return buf("build", "--exclude-source-info", "--output", BASELINE.name)


def main() -> int:
    """Runs what the arguments ask for; 0 if all of it went well."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="fail if the committed code is stale")
    parser.add_argument("--lint", action="store_true", help="lint the protos; fail on a breaking change")
    parser.add_argument("--baseline", action="store_true", help="renew the baseline of buf breaking")
    arguments = parser.parse_args()
    chosen = [action for wanted, action in ((arguments.baseline, baseline), (arguments.check, check), (arguments.lint, lint)) if wanted]
    return max(action() for action in chosen or [write])


if __name__ == "__main__":
    sys.exit(main())
