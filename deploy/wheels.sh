#!/bin/sh
# Gathers every wheel that the server needs into one directory: ours, built here, and the locked ones, checked by hash.
#   wheels.sh SOURCE WHEELS
# SOURCE holds pyproject.toml, server/, clients/python/ and requirements/; WHEELS is made. Needs pip and the package index.
set -eu
source=$1
wheels=$2
python=${PYTHON:-python3}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

mkdir -p "$wheels"
"$python" -m venv "$scratch/venv"
pip="$scratch/venv/bin/python -m pip --disable-pip-version-check"
$pip install --quiet --require-hashes -r "$source/requirements/build.lock"
# A copy: setuptools writes its build directories beside what it builds.
mkdir "$scratch/source"
cp -R "$source/pyproject.toml" "$source/LICENSE" "$source/server" "$source/clients" "$scratch/source/"
$pip wheel --quiet --no-deps --no-build-isolation --no-index --wheel-dir "$wheels" "$scratch/source" "$scratch/source/clients/python"
$pip download --quiet --only-binary :all: --require-hashes --dest "$wheels" -r "$source/requirements/server.lock"
