"""A `perdure dev` without its server: owns embedded services until it is told to end, or is killed. Says on stdout what it has, as JSON."""

import asyncio
import json
import sys
from pathlib import Path

from perdure_server.embedded import EmbeddedOptions, embedded_services
from tests.processes import environment


async def main(directory: Path) -> None:
    async with embedded_services(EmbeddedOptions(directory, environment())) as services:
        redis = services.redis
        assert redis is not None
        told = {"store": services.store.url, "redis": redis.url, "pids": [services.store.pid, redis.pid]}
        sys.stdout.write(json.dumps(told) + "\n")
        sys.stdout.flush()
        reader = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        await reader.read()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
