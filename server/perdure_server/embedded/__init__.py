"""The servers that `perdure dev` runs beside its own: a store and a Redis, found on this machine, as child processes.

    async with embedded_services(EmbeddedOptions(data_directory, environment)) as services:
        services.store.url, services.store.durability_text
        services.redis            # None: coordination is in-process

Data and ports are kept across runs. A child that crashes is started again on its port; all of them end with this process,
kill -9 included. docs/notes-secantus.md tells what the stand-in store does and does not do.
"""

from perdure_server.embedded.services import EmbeddedServices, embedded_services
from perdure_server.embedded.values import (
    ChildDidNotStartError,
    DataDirectoryInUseError,
    EmbeddedError,
    EmbeddedEvent,
    EmbeddedOptions,
    EmbeddedRedis,
    EmbeddedStore,
    Happening,
    ProgramNotFoundError,
    RedisKind,
    Service,
    StoreKind,
)

__all__ = [
    "ChildDidNotStartError",
    "DataDirectoryInUseError",
    "EmbeddedError",
    "EmbeddedEvent",
    "EmbeddedOptions",
    "EmbeddedRedis",
    "EmbeddedServices",
    "EmbeddedStore",
    "Happening",
    "ProgramNotFoundError",
    "RedisKind",
    "Service",
    "StoreKind",
    "embedded_services",
]
