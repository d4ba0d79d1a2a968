# Perdure. `make` alone lists the targets; each does all the set-up that it needs.
#   PYTHON=python3.12   the interpreter (default: the first of python3.11, 3.12, 3.13)     VENV=.venv   where it is set up
#   ARGS="..."          more arguments for pytest, the demo or the lock
#   LANGUAGES="go java" which client languages (default: all of which the toolchain is here)     BUILD=   they are built already

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

VENV ?= .venv
BIN := $(abspath $(VENV))/bin
PY := $(BIN)/python
ARGS ?=
SEEDS ?= 2000
FIRST ?= 1
LANGUAGES ?=
BUILD ?= build
# Tests wait for stores, processes and timers: one process more than there are cores, and four at most.
TEST_PROCESSES := $(shell cores=$$(getconf _NPROCESSORS_ONLN); echo $$((cores < 4 ? cores + 1 : 4)))
export VENV
# Without compiled files every process compiles all that it imports, and tests start many.
unexport PYTHONDONTWRITEBYTECODE
export PATH := $(BIN):$(PATH)

.NOTPARALLEL:
.PHONY: help setup demo demo-polyglot test slow simulate sabotage chaos chaos-long image clients clients-check conformance bench bench-quick bench-flat bench-peers check lint format types contracts tidy gen gen-check proto-lint lock pytest clean

help: ## This list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## The virtual environment, from the locks, by hash (nothing to do: 0.1 s)
	@tools/setup

demo: setup ## Kills a worker, the server and Redis in the middle of real work; prints what was lost (KILL=me, KEEP=1, DOCS=dir)
	@$(PY) -m examples.documents $(ARGS)

test: setup check pytest ## Generated code, lint, types, import contracts, and the core tests; needs no network once set up

pytest: setup ## The core tests only
	$(PY) -m pytest -m "not slow and not chaos and not image and not conformance" -n $(TEST_PROCESSES) --dist worksteal $(ARGS)

slow: setup ## Stories and services on real processes that are killed and restarted, and the first seeds of the simulation
	$(PY) -m pytest -m "slow and not chaos and not image" -n auto --maxprocesses 2 --dist worksteal $(ARGS)

simulate: setup ## Thousands of seeds of whole servers under faults, in virtual time (SEEDS=2000 FIRST=1)
	$(PY) -m pytest -q tests/kernel/test_machine.py --hypothesis-profile=long
	$(PY) -W ignore -m tests.simulation --seeds $(SEEDS) --first $(FIRST)

sabotage: setup ## Puts one fault at a time into a copy of the tree, and fails unless the tests named for it notice
	$(PY) tools/sabotage.py $(ARGS)

chaos: setup ## Kills server, worker, store and Redis in the middle of 60 running workflows each: 5 minutes
	$(PY) -m pytest -m chaos $(ARGS)

chaos-long: setup ## The same with 200 workflows, more faults and longer soaks: 12 minutes
	CHAOS=long $(PY) -m pytest -m chaos $(ARGS)

clients: setup ## Client libraries: builds, checks and tests those whose toolchain is here, and runs their samples (LANGUAGES="go java")
	$(PY) -m tools.clients build lint test samples $(LANGUAGES) $(ARGS)

clients-check: setup ## Whether the generated code of all client languages is fresh
	$(PY) -m tools.clients generate --check $(LANGUAGES)

conformance: setup ## The same cases in every client language, against real servers (LANGUAGES="go java")
	$(PY) -m tools.clients $(BUILD) conformance $(LANGUAGES) $(ARGS)

demo-polyglot: setup ## One workflow through workers of four languages; one is killed, then a step is added without the others
	@test -z "$(BUILD)" || $(PY) -m tools.clients build
	@$(PY) -m examples.polyglot

bench: setup bench-peers ## Perdure and its peers in turn, five rounds: half an hour (ARGS="--rounds 2 --systems perdure,dbos")
	$(PY) -m tools.bench $(ARGS)

bench-quick: setup ## One short round of Perdure alone on the best store present and on the embedded one; figures, no verdict
	$(PY) -m tools.bench --quick $(ARGS)

bench-flat: setup ## Every scene of tools/bench/flat.py at full size: half an hour; figures as they come in build/bench (ARGS="--small": five minutes)
	mkdir -p build/bench
	$(PY) -m tools.bench.flat --lines build/bench/flat.jsonl --markdown build/bench/flat.md $(ARGS)

bench-peers: setup ## Installs the peers for `make bench` into build/bench: what lacks npm or PostgreSQL is left out there
	tools/bench/install_peers

check: gen-check lint types ## Everything in `make test` that is not a test

lint: contracts tidy ## ruff, import contracts, our own tidy check, the README's program, the list of sabotage
	$(PY) tools/readme.py --check
	$(PY) tools/sabotage.py --check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/hadolint Dockerfile
	$(BIN)/shellcheck .ci/run tools/setup tools/bench/install_peers deploy/*.sh

contracts: setup ## The direction of imports
	$(BIN)/lint-imports --no-logo

tidy: setup ## Sizes, names, dead files, reasons beside suppressions
	$(PY) tools/tidy.py

types: setup ## mypy --strict; and pyright's strict mode over the Python client and a user's program (by npx, where that is)
	$(BIN)/mypy
	$(PY) tools/strict_types.py

format: setup ## Formats, and fixes what ruff can fix
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

gen: setup ## Generated code and generated documentation
	$(PY) tools/gen.py $(ARGS)
	$(PY) tools/sync_client.py
	$(PY) tools/codec_vectors.py
	$(PY) -m tools.reason_comments
	$(PY) -m tools.reference
	$(PY) tools/cli_reference.py
	$(PY) -m tools.definition_schema

gen-check: setup
	$(PY) tools/gen.py --check
	$(PY) tools/sync_client.py --check
	$(PY) tools/codec_vectors.py --check
	$(PY) -m tools.reason_comments --check
	$(PY) -m tools.reference --check
	$(PY) tools/cli_reference.py --check
	$(PY) -m tools.definition_schema --check

proto-lint: setup ## buf lint, format and breaking (needs npx; downloads buf once)
	$(PY) tools/gen.py --lint

image: setup ## The image's installation in an empty Debian (needs root and debootstrap; there is no Docker engine here)
	$(PY) -m pytest -m image $(ARGS)

lock: setup ## requirements/*.lock anew (ARGS="--upgrade-package NAME", or ARGS=--upgrade)
	$(PY) tools/lock.py $(ARGS)

clean: ## Removes the virtual environment and all caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
