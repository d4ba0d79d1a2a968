"""`serve --processes 2`: two servers behind one port, one of which may die; gone together."""

import os
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import grpc
import pytest

from perdure.v1 import admin_service_pb2
from tests.conftest import Eventually
from tests.e2e.channels import COMPLETED, Perdure
from tests.e2e.conftest import MakeServer
from tests.processes import ServerDidNotStartError, is_alive

pytestmark = pytest.mark.slow

CONNECTIONS = 20  # the chance that all of them reach one of two servers is 2 in 2 ** 20


@asynccontextmanager
async def own_connection(address: str) -> AsyncIterator[Perdure]:
    """A channel that shares its connection with no other."""
    async with grpc.aio.insecure_channel(address, [("grpc.use_local_subchannel_pool", 1)]) as channel:
        yield Perdure(channel)


async def server_ids(address: str) -> set[str]:
    """Ids of the servers that many connections reach. A connection that met a dying server is tried again."""
    found = set()
    for _ in range(CONNECTIONS):
        async with own_connection(address) as perdure:
            request = admin_service_pb2.GetServerInfoRequest()
            found.add((await perdure.admin.GetServerInfo(request, wait_for_ready=True, timeout=10)).server_id)
    return found


def children(pid: int) -> Mapping[int, str]:
    """Command lines of the server processes below a process, by their pid."""
    found = {}
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        # A thread or a child may just have ended.
        with suppress(FileNotFoundError, ProcessLookupError):
            for child in task.read_text().split():
                found[int(child)] = _command_line(int(child))
    return {child: line for child, line in found.items() if "spawn_main" in line}


def _command_line(pid: int) -> str:
    with suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    return ""


async def test_two_processes_share_the_port_and_one_that_dies_comes_again(new_server: MakeServer, eventually: Eventually) -> None:
    server = new_server(processes=2)
    before = await server_ids(server.address)
    assert len(before) == 2
    victim, survivor = children(server.pid)
    os.kill(victim, signal.SIGKILL)
    await eventually(lambda: len(children(server.pid).keys() - {victim}) == 2, within=20)
    assert survivor in children(server.pid)

    async def is_whole() -> bool:
        return len(await server_ids(server.address)) == 2

    await eventually(is_whole, within=20)
    assert len(await server_ids(server.address) & before) == 1
    async with own_connection(server.address) as perdure, own_connection(server.address) as other:
        await perdure.register("a")
        await perdure.start()
        await other.complete(await other.taken())
        assert (await perdure.ended()).state == COMPLETED
    assert [line for line in server.log if "started anew" in line]


def cpus_of(pid: int) -> list[list[int]]:
    """The CPUs that the threads of a process may use."""
    found = {tuple(sorted(os.sched_getaffinity(int(task.name)))) for task in Path(f"/proc/{pid}/task").iterdir()}
    return sorted(map(list, found))


async def test_each_keeps_to_its_cpu_with_all_its_threads(new_server: MakeServer) -> None:
    mine = sorted(os.sched_getaffinity(0), reverse=True)
    server = new_server(processes=2, cpu_affinity="auto")
    await server_ids(server.address)
    expected = sorted([[mine[0]], [mine[1 % len(mine)]]])
    assert sorted(cpus for child in children(server.pid) for cpus in cpus_of(child)) == expected
    assert cpus_of(server.pid) == [sorted(mine)], "the parent serves nothing"
    alone = new_server(cpu_affinity=str(mine[-1]))
    assert cpus_of(alone.pid) == [[mine[-1]]]


async def test_sigterm_stops_all_of_them_and_a_kill_of_the_parent_does_too(new_server: MakeServer, eventually: Eventually) -> None:
    server = new_server(processes=2)
    stopped = list(children(server.pid))
    server.send(signal.SIGTERM)
    await eventually(lambda: server.exit_code == 0, within=10)
    assert not [pid for pid in stopped if is_alive(pid)]
    server = new_server(processes=2)
    orphans = list(children(server.pid))
    server.send(signal.SIGKILL)
    await eventually(lambda: not [pid for pid in orphans if is_alive(pid)], within=10)


async def test_a_port_in_use_is_an_error_and_so_is_a_child_that_cannot_begin(new_server: MakeServer) -> None:
    server = new_server()
    with pytest.raises(ServerDidNotStartError, match=f"cannot listen on 127.0.0.1 port {server.port}"):
        new_server(processes=2, port=server.port)
    with pytest.raises(ServerDidNotStartError, match=r"nothing\.toml"):
        new_server(processes=2, access_file="/nothing.toml")
