"""What operators look at: perdure queues, workers, audit, info."""

from collections.abc import Iterator
from datetime import datetime, timedelta

import click

from perdure.cli.completion import complete_type
from perdure.cli.filters import Moment
from perdure.cli.options import json_option
from perdure.cli.output import ago, console, facts, message_json
from perdure.cli.rows import Listing, Shown, list_options
from perdure.cli.session import connected
from perdure.client import Client
from perdure.durations import format_duration
from perdure.operation_values import AuditRecord, Queue, WorkerSession
from perdure.view import WorkflowRef


def age(span: timedelta | None) -> str:
    """A duration to the second; empty for none."""
    return format_duration(timedelta(seconds=int(span.total_seconds()))) if span is not None else ""


QUEUES = Listing[Queue](
    {
        "QUEUE": lambda queue: queue.queue,
        "TYPE": lambda queue: queue.workflow_type,
        "STEP": lambda queue: queue.step,
        "READY": lambda queue: f"{'~' if queue.is_estimate else ''}{queue.ready}",
        "THROTTLED": lambda queue: str(queue.throttled or ""),
        "RUNNING": lambda queue: str(queue.running or ""),
        "OLDEST": lambda queue: age(queue.oldest_wait),
        "WORKERS": lambda queue: str(queue.workers),
        "FREE": lambda queue: str(queue.free_slots),
        "OTHER BUILDS": lambda queue: str(queue.incompatible_workers or ""),
        "PHASE": lambda queue: queue.phase,
        "DEFINITION": lambda queue: queue.fingerprint[:12],
    },
    name=lambda queue: f"{queue.queue} {queue.workflow_type} {queue.step}",
    message=lambda queue: queue.message,
    nothing="no queue has work or workers",
)
WORKERS = Listing[WorkerSession](
    {
        "WORKER": lambda worker: worker.worker_id,
        "HOLDS": lambda worker: str(worker.held),
        "SERVES": lambda worker: ", ".join(sorted(set(_served(worker)))),
        "CLIENT": lambda worker: f"{worker.client_name} {worker.client_version}",
        "CONNECTED": lambda worker: ago(worker.connect_time),
        "LEASE ENDS": lambda worker: ago(worker.lease_end_time),
        "DRAINING": lambda worker: "yes" if worker.is_draining else "",
        "SERVER": lambda worker: worker.server_id,
        "FROM": lambda worker: worker.peer_address,
    },
    name=lambda worker: worker.worker_id,
    message=lambda worker: worker.message,
    nothing="no worker is connected",
)


def _on(record: AuditRecord) -> str:
    if record.workflow is not None:
        return f"{record.workflow.workflow_type}/{record.workflow.business_key}"
    return record.target


AUDIT = Listing[AuditRecord](
    {
        "WHEN": lambda record: record.time.isoformat(timespec="seconds") if record.time is not None else "",
        "WHO": lambda record: record.actor or "(anyone)",
        "WHAT": lambda record: record.method,
        "ON": _on,
        "REASON": lambda record: record.reason,
        "FROM": lambda record: "" if record.actor else record.peer_address.rpartition(":")[0],
        "REFUSED": lambda record: record.problem,
    },
    name=lambda record: record.record_id,
    message=lambda record: record.message,
    nothing="nothing was done",
)


def _served(worker: WorkerSession) -> Iterator[str]:
    for pool in worker.message.pools:
        yield pool.workflow_type if pool.queue in {"", "default"} else f"{pool.workflow_type} from {pool.queue}"


@click.command()
@click.argument("queue", metavar="[QUEUE]", default="")
@click.option("--type", "workflow_type", default="", help="Only of this type.", shell_complete=complete_type)
@list_options
@connected
async def queues(client: Client, *, queue: str, workflow_type: str, shown: Shown, as_json: bool) -> None:
    """List queues: what is ready, throttled and running in them, since when, and who serves them."""
    del as_json
    await QUEUES.show(client.operations.queues(queue, workflow_type=workflow_type), shown)


@click.command()
@click.option("--queue", default="", help="Only those that serve this queue.")
@click.option("--type", "workflow_type", default="", help="Only those that serve this type.", shell_complete=complete_type)
@list_options
@connected
async def workers(client: Client, *, queue: str, workflow_type: str, shown: Shown, as_json: bool) -> None:
    """List the workers that are connected, what they serve and hold."""
    del as_json
    await WORKERS.show(client.operations.workers(queue=queue, workflow_type=workflow_type), shown)


@click.command()
@click.option("--workflow", nargs=2, metavar="TYPE KEY", help="Only what was done to this one.")
@click.option("--actor", default="", help="Only what this caller did.")
@click.option("--method", "methods", multiple=True, help="Only these RPCs, such as TerminateWorkflow; repeatable.")
@click.option("--after", type=Moment(), help="2030-01-31T12:00:00Z, or how long ago: 90m.")
@click.option("--before", type=Moment(), help="The same.")
@list_options
@connected
async def audit(
    client: Client,
    *,
    workflow: tuple[str, str] | None,
    actor: str,
    methods: tuple[str, ...],
    after: datetime | None,
    before: datetime | None,
    shown: Shown,
    as_json: bool,
) -> None:
    """List who did what, newest first.

    WHO is the name that the server proved. Without an access file it lets anyone in and asks for no name: then FROM tells the address.
    """
    del as_json
    ref = WorkflowRef(*workflow) if workflow else None
    await AUDIT.show(client.operations.audit(ref, actor=actor, methods=methods, after=after, before=before), shown)


@click.command()
@json_option
@connected
async def info(client: Client, *, as_json: bool) -> None:
    """Tell about the server that answers: version, store, coordination, defaults and limits."""
    found = await client.server_info()
    if as_json:
        click.echo(message_json(found.message))
        return
    console().print(
        facts(
            (
                ("server", f"{found.server_version}, replica {found.server_id}{', perdure dev' if found.is_dev else ''}"),
                ("started", ago(found.start_time)),
                ("store", f"{found.store}{'' if found.is_store_healthy else ' (not healthy)'}"),
                ("an OK means", found.durability),
                ("coordination", f"{found.coordination}{'' if found.is_coordination_healthy else ' (not healthy)'}"),
                ("draining", "yes" if found.is_draining else ""),
                ("session lease", age(found.defaults.session_lease.ToTimedelta())),
                ("retention", age(found.defaults.retention.ToTimedelta())),
                ("largest value", f"{found.limits.payload_bytes} bytes"),
                ("features", ", ".join(found.message.features)),
            )
        )
    )
    if any(check.severity != "OK" for check in found.checks):
        click.echo("hint: `perdure doctor` has findings", err=True)
