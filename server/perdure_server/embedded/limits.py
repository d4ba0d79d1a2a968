"""Every number with a unit that the embedded servers live by."""

from typing import Final

STORE_START_SECONDS: Final = 60.0
"""For the store to answer, log replay included; the stand-in takes 1 to 3 s."""
REDIS_START_SECONDS: Final = 15.0
STORE_STOP_SECONDS: Final = 30.0
"""For the last checkpoint; after it SIGKILL, which a journalled store survives."""
REDIS_STOP_SECONDS: Final = 5.0
PROBE_SECONDS: Final = 2.0
"""One connection attempt with its commands."""
PROBE_PAUSE_SECONDS: Final = 0.02
OWNER_WAIT_SECONDS: Final = 15.0
"""How long a new owner waits for the children of a dead one to be gone."""

RESTART_FIRST_SECONDS: Final = 0.1
RESTART_CAP_SECONDS: Final = 10.0
STEADY_SECONDS: Final = 60.0
"""A child that lived this long starts again with the first pause."""

KNOCK_SECONDS: Final = 0.05

LOG_BYTES: Final = 4 * 1024 * 1024
"""Per log file; one older file of the same size is kept beside it."""
LOG_CHECK_SECONDS: Final = 5.0
LOG_TAIL_LINES: Final = 20
PROBE_BYTES: Final = 4 * 1024 * 1024
"""The longest answer that a probe reads."""

# Below the ranges from which Linux (32768) and macOS (49152) take ports for outgoing connections: a client that keeps
# trying a dead port in that range can connect to itself and then hold the port against the server that comes back.
PORT_LOWEST: Final = 20_000
PORT_HIGHEST: Final = 31_999
PORT_TRIES: Final = 200
START_TRIES: Final = 3

MONGOD_CACHE_GIB: Final = "0.25"  # the least that it accepts
SECANTUS_CACHE: Final = "256M"
SECANTUS_TIMER_SLACK_MILLISECONDS: Final = 50
"""ms. It looks for new connections every 5 ms; each is made so much later, at most, and an idle store takes a third of the CPU."""
SECANTUS_OPLOG_ENTRIES: Final = 1_000
SECANTUS_OPLOG_SECONDS: Final = 300
"""Perdure reads no change streams, so the oplog is only disk."""
SECANTUS_RS_PRUNE_SECONDS: Final = 60
"""Only its heartbeat prunes the Rust server's oplog."""
SECANTUS_RS_LOG_FILE: Final = "32MB"
"""Allocated in full, so it is the size of an empty store; 128 MB if not told."""
REDIS_MEMORY: Final = "256mb"
