"""perdure schedules put / show / list / trigger / pause / resume / delete."""

from datetime import datetime
from typing import Any, get_args

import click

from perdure.cli.completion import complete_type
from perdure.cli.filters import Moment
from perdure.cli.options import Duration, Json, Label, json_option
from perdure.cli.output import ago, console, facts, message_json, payload_text
from perdure.cli.rows import Listing, Shown, list_options
from perdure.cli.session import connected
from perdure.cli.verbs import Told, sure, yes_option
from perdure.client import Client
from perdure.durations import format_duration
from perdure.schedule_values import Cron, Every, Firing, Overlap, Schedule, ScheduledStart, ScheduleTimes

OVERLAPS = get_args(Overlap)


def _when(schedule: Schedule) -> str:
    return "; ".join(_trigger(trigger) for trigger in schedule.triggers)


def _trigger(trigger: Cron | Every) -> str:
    if isinstance(trigger, Every):
        return f"every {format_duration(trigger.interval)}"
    return f"{trigger.expression} {trigger.time_zone or 'UTC'}"


SCHEDULES = Listing[Schedule](
    {
        "SCHEDULE": lambda schedule: schedule.schedule_id,
        "TYPE": lambda schedule: str(schedule.start.workflow),
        "WHEN": _when,
        "PAUSED": lambda schedule: "yes" if schedule.paused else "",
        "NEXT": lambda schedule: ago(schedule.next_fire_times[0]) if schedule.next_fire_times and not schedule.paused else "",
        "FIRED": lambda schedule: str(schedule.fired),
        "SKIPPED": lambda schedule: str(schedule.skipped or ""),
        "MISSED": lambda schedule: str(schedule.missed or ""),
        "NOTE": lambda schedule: schedule.note,
    },
    name=lambda schedule: schedule.schedule_id,
    message=lambda schedule: schedule.message,
    nothing="no schedule",
)


@click.group()
def schedules() -> None:
    """Starts by the clock: each firing starts once, however many servers run."""


@schedules.command()
@click.argument("schedule_id", metavar="SCHEDULE")
@click.argument("workflow_type", metavar="TYPE", shell_complete=complete_type)
@click.option("--cron", "crons", multiple=True, help="Minute, hour, day of month, month, day of week; repeatable.")
@click.option("--time-zone", default="", help="Of --cron, such as Europe/Berlin; default UTC.")
@click.option("--every", "intervals", type=Duration(), multiple=True, help="Interval, such as 15m; repeatable.")
@click.option("--key", default="", help="Key of each workflow, with {fire_time} in it; default SCHEDULE@time.")
@click.option("--input", "payload", type=Json(), help="Input of each, as JSON; @FILE and - read it from there.")
@click.option("--label", "labels", type=Label(), multiple=True, help="Labels of each.")
@click.option("--priority", type=click.IntRange(0, 9), help="Of each; higher is sooner; default 5.")
@click.option("--queue", default="", help="Queue of all steps.")
@click.option("--overlap", type=click.Choice(OVERLAPS), help="What if the last one is still open; default skip.")
@click.option("--jitter", type=Duration(), help="Random delay of each firing, up to this.")
@click.option("--catch-up", type=Duration(), help="Firings missed for longer than this are dropped; default 1m.")
@click.option("--paused", is_flag=True, help="It rests until it is resumed.")
@click.option("--note", default="", help="What it is for.")
@click.option("--dry-run", is_flag=True, help="Check, tell the next firings, and store nothing.")
@json_option
@connected
async def put(client: Client, /, *, schedule_id: str, crons: tuple[str, ...], time_zone: str, as_json: bool, **options: Any) -> None:
    """Make the schedule SCHEDULE, or replace it, that starts workflows of TYPE.

    perdure schedules put nightly report --cron "0 3 * * *" --time-zone Europe/Berlin
    """
    triggers = [Cron(text, time_zone) for text in crons] + [Every(interval) for interval in options["intervals"]]
    if not triggers:
        raise click.UsageError("give --cron or --every")
    start = ScheduledStart(
        workflow=options["workflow_type"],
        key=options["key"],
        input=options["payload"],
        labels=dict(options["labels"]),
        priority=options["priority"],
        queue=options["queue"],
    )
    stored = await client.schedules.put(
        schedule_id,
        triggers,
        start,
        times=ScheduleTimes(jitter=options["jitter"], catch_up_window=options["catch_up"]),
        overlap=options["overlap"],
        paused=options["paused"],
        note=options["note"],
        validate_only=options["dry_run"],
    )
    if as_json:
        click.echo(message_json(stored.message))
        return
    what = "would be stored" if options["dry_run"] else "is made" if stored.created else "is changed"
    click.echo(f"schedule {schedule_id} {what}; next: {', '.join(time.isoformat() for time in stored.next_fire_times[:3]) or 'never'}")


@schedules.command()
@click.argument("schedule_id", metavar="SCHEDULE")
@json_option
@connected
async def show(client: Client, *, schedule_id: str, as_json: bool) -> None:
    """Show a schedule with its next and last firings."""
    found = await client.schedules.get(schedule_id)
    if as_json:
        click.echo(message_json(found.message))
        return
    start = found.start
    console().print(
        facts(
            (
                ("schedule", found.schedule_id),
                ("starts", f"{start.workflow} {start.key or '(key: the id, @ and the time)'}"),
                ("input", payload_text(found.message.start.input) if found.message.start.HasField("input") else ""),
                ("when", _when(found)),
                ("overlap", found.overlap),
                ("paused", "yes" if found.paused else ""),
                ("note", found.note),
                ("next", ", ".join(time.isoformat() for time in found.next_fire_times[:3]) if not found.paused else ""),
                ("fired", f"{found.fired}, {found.skipped} skipped, {found.missed} missed"),
            )
        )
    )
    for firing in found.recent:
        click.echo(f"  {ago(firing.fire_time)}: {_fired(firing)}")


@schedules.command("list")
@click.argument("workflow_type", metavar="[TYPE]", required=False, shell_complete=complete_type)
@list_options
@connected
async def list_schedules(client: Client, *, workflow_type: str | None, shown: Shown, as_json: bool) -> None:
    """List schedules, of one type or all."""
    del as_json
    await SCHEDULES.show(client.schedules.list(workflow_type or ""), shown)


@schedules.command()
@click.argument("schedule_id", metavar="SCHEDULE")
@click.option("--overlap", type=click.Choice(OVERLAPS), help="Instead of the schedule's.")
@click.option("--planned-time", type=Moment(), help="The time in the key; default now.")
@click.option("--request-id", default="", help="Makes a repeat answer the same firing.")
@json_option
@connected
async def trigger(
    client: Client, *, schedule_id: str, overlap: Overlap | None, planned_time: datetime | None, request_id: str, as_json: bool
) -> None:
    """Fire a schedule now, whether it rests or not."""
    firing = await client.schedules.trigger(schedule_id, overlap=overlap, planned_time=planned_time, request_id=request_id)
    started = firing.workflow
    told = {"businessKey": started.business_key if started is not None else "", "problem": firing.problem}
    Told(f"schedule {schedule_id}: {_fired(firing)}", told).say(as_json=as_json)


@schedules.command()
@click.argument("schedule_id", metavar="SCHEDULE")
@click.option("--note", default="", help="Why.")
@json_option
@connected
async def pause(client: Client, *, schedule_id: str, note: str, as_json: bool) -> None:
    """Let a schedule rest."""
    await client.schedules.pause(schedule_id, note=note)
    Told(f"schedule {schedule_id} rests", {"paused": True}).say(as_json=as_json)


@schedules.command()
@click.argument("schedule_id", metavar="SCHEDULE")
@click.option("--note", default="", help="Why.")
@json_option
@connected
async def resume(client: Client, *, schedule_id: str, note: str, as_json: bool) -> None:
    """End a schedule's rest."""
    await client.schedules.resume(schedule_id, note=note)
    Told(f"schedule {schedule_id} fires again", {"paused": False}).say(as_json=as_json)


@schedules.command()
@click.argument("schedule_id", metavar="SCHEDULE")
@yes_option
@json_option
@connected
async def delete(client: Client, *, schedule_id: str, yes: bool, as_json: bool) -> None:
    """Remove a schedule; workflows that it started go on."""
    sure(f"Delete the schedule {schedule_id}?", yes=yes)
    await client.schedules.delete(schedule_id)
    Told(f"schedule {schedule_id} is deleted", {"deleted": True}).say(as_json=as_json)


def _fired(firing: Firing) -> str:
    if firing.workflow is None:
        return f"started nothing: {firing.problem}" if firing.problem else "will start when the last one has ended"
    return f"started {firing.workflow.workflow_type}/{firing.workflow.business_key}"
