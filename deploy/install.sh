#!/bin/sh
# Installs the Perdure server into /opt/perdure for a user of its own. The Dockerfile runs this and nothing else;
# tests/tooling/test_image.py runs it in an empty Debian, without a network.
#   install.sh WHEELS LOCK
# WHEELS: the directory that wheels.sh made. LOCK: requirements/server.lock. Needs root, Python 3.11 to 3.13 with venv, useradd.
set -eu
wheels=$1
lock=$2
home=/opt/perdure
user=perdure
uid=10001

python3 -m venv "$home"
pip="$home/bin/python -m pip --disable-pip-version-check --no-cache-dir"
$pip install --quiet --no-index --find-links "$wheels" --require-hashes -r "$lock"
# Ours carry no hash: they were built a step ago, and are the only wheels of these names here.
$pip install --quiet --no-index --no-deps "$wheels"/perdure-*.whl "$wheels"/perdure_server-*.whl
$pip check
# Compiled once, by root: the service may write nothing here.
"$home/bin/python" -m compileall -q "$home/lib"
# Nothing is installed into it later, so it needs no installer.
"$home/bin/python" -m pip uninstall --quiet --yes setuptools pip

groupadd --gid "$uid" "$user"
useradd --uid "$uid" --gid "$uid" --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin "$user"
"$home/bin/python" -c 'import perdure, perdure_server.main'
