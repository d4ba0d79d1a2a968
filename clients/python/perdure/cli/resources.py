"""perdure resources put / show / list / delete, and perdure namespaces put / show / list."""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

import click

from perdure.cli.options import Duration, Label, json_option
from perdure.cli.output import console, facts, message_json
from perdure.cli.rows import Listing, Shown, list_options
from perdure.cli.session import connected
from perdure.cli.verbs import Told, sure, yes_option
from perdure.client import Client
from perdure.durations import format_duration
from perdure.namespace_values import Namespace, NamespaceLimits
from perdure.resource_values import Rate, Resource


class RateText(click.ParamType[Rate]):
    """So many per period: 100/1s, or 100/1s+20 with a burst."""

    name = "rate"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Rate:
        """The rate, or a usage error that says how to write one."""
        if isinstance(value, Rate):
            return value
        units, _, rest = str(value).partition("/")
        period, _, burst = rest.partition("+")
        if not units.isdecimal() or (burst and not burst.isdecimal()):
            self.fail(f"{value!r} is no rate: write units/period, such as 100/1s, or 100/1s+20 with a burst", param, ctx)
        return Rate(int(units), Duration().convert(period, param, ctx), int(burst or 0))


def _rate(rate: Rate | None) -> str:
    return f"{rate.units}/{format_duration(rate.period)}{f'+{rate.burst}' if rate.burst else ''}" if rate is not None else ""


def _span(span: timedelta | None) -> str:
    return format_duration(timedelta(seconds=round(span.total_seconds()))) if span is not None else ""


def _per(resource: Resource) -> str:
    return f"label {resource.per_label}" if resource.per_label else "fairness key" if resource.per_fairness_key else ""


def _counted(pairs: Iterable[tuple[str, object]]) -> str:
    return ", ".join(f"{value} {name}" for name, value in pairs if value is not None)


RESOURCES = Listing[Resource](
    {
        "RESOURCE": lambda resource: resource.name,
        "IN USE": lambda resource: str(resource.in_use),
        "CAPACITY": lambda resource: "" if resource.capacity is None else str(resource.capacity),
        "RATE": lambda resource: _rate(resource.rate),
        "PER": _per,
        "WAITING": lambda resource: str(resource.waiting or ""),
        "OLDEST": lambda resource: _span(resource.oldest_wait),
        "DESCRIPTION": lambda resource: resource.description,
    },
    name=lambda resource: resource.name,
    message=lambda resource: resource.message,
    nothing="no resource",
)
NAMESPACES = Listing[Namespace](
    {
        "NAMESPACE": lambda namespace: namespace.name,
        "OPEN": lambda namespace: _of(namespace.usage.open_workflows, namespace.limits.open_workflows),
        "STARTS/S": lambda namespace: _of(round(namespace.usage.starts_per_second, 1), namespace.limits.starts_per_second),
        "BYTES": lambda namespace: _of(namespace.usage.stored_bytes, namespace.limits.stored_bytes),
        "WATCHERS": lambda namespace: _of(namespace.usage.watchers, namespace.limits.watchers),
        "SESSIONS": lambda namespace: _of(namespace.usage.sessions, namespace.limits.sessions),
        "RETENTION": lambda namespace: _span(namespace.retention),
        "DESCRIPTION": lambda namespace: namespace.description,
    },
    name=lambda namespace: namespace.name,
    message=lambda namespace: namespace.message,
    nothing="no namespace was put; `default` and others can be used all the same",
)


def _of(used: float, limit: float | None) -> str:
    return f"{used:g}" if limit is None else f"{used:g}/{limit:g}"


@click.group()
def resources() -> None:
    """Cluster-wide limits whose permits steps hold while they run."""


@resources.command("put")
@click.argument("name", metavar="RESOURCE")
@click.option("--capacity", type=click.IntRange(0), help="Units held at once; without it: no such limit. 0 grants nothing.")
@click.option("--rate", type=RateText(), help="Starts per period, such as 100/1s, or 100/1s+20 with a burst.")
@click.option("--per-label", default="", help="Both limits count per value of this label.")
@click.option("--per-fairness-key", is_flag=True, help="Both limits count per fairness key.")
@click.option("--description", default="", help="For people.")
@click.option("--etag", default="", help="Only if it is unchanged since it was read.")
@json_option
@connected
async def put_resource(client: Client, /, *, name: str, as_json: bool, **options: Any) -> None:
    """Make a resource, or replace its limits; acts at once. Lowering drains, it revokes nothing.

    perdure resources put asr --capacity 100 --rate 20/1s
    """
    stored = await client.resources.put(name, **options)
    if as_json:
        click.echo(message_json(stored.message))
    else:
        limits = _counted((("at once", stored.capacity), ("", _rate(stored.rate) or None))).strip()
        click.echo(f"resource {name}: {limits or 'no limit'}")


@resources.command("show")
@click.argument("name", metavar="RESOURCE")
@json_option
@connected
async def show_resource(client: Client, *, name: str, as_json: bool) -> None:
    """Show a resource, who holds its permits, and who waits."""
    found = await client.resources.get(name)
    if as_json:
        click.echo(message_json(found.message))
        return
    console().print(
        facts(
            (
                ("resource", found.name),
                ("in use", f"{found.in_use}{f' of {found.capacity}' if found.capacity is not None else ''}"),
                ("rate", _rate(found.rate)),
                ("per", _per(found)),
                ("waiting", f"{found.waiting}, the first for {_span(found.oldest_wait)}" if found.waiting else ""),
                ("description", found.description),
            )
        )
    )
    for key in found.message.usage.keys:
        click.echo(f"  {key.key or '(no key)'}: {key.in_use} in use, {key.waiting_count} waiting")
    for holder in found.holders:
        click.echo(f"  held by {holder.workflow.workflow_type}/{holder.workflow.business_key} {holder.step}: {holder.units}")


@resources.command("list")
@list_options
@connected
async def list_resources(client: Client, *, shown: Shown, as_json: bool) -> None:
    """List resources with their use."""
    del as_json
    await RESOURCES.show(client.resources.list(), shown)


@resources.command("delete")
@click.argument("name", metavar="RESOURCE")
@yes_option
@json_option
@connected
async def delete_resource(client: Client, *, name: str, yes: bool, as_json: bool) -> None:
    """Remove a resource that nobody uses."""
    sure(f"Delete the resource {name}?", yes=yes)
    await client.resources.delete(name)
    Told(f"resource {name} is deleted", {"deleted": True}).say(as_json=as_json)


@click.group()
def namespaces() -> None:
    """Places of their own for workflows, with their limits."""


@namespaces.command("put")
@click.argument("name", metavar="NAME")
@click.option("--open-workflows", type=click.IntRange(0), help="Open at once.")
@click.option("--starts-per-second", type=click.FloatRange(0), help="Starts per second.")
@click.option("--stored-bytes", type=click.IntRange(0), help="Documents and values.")
@click.option("--watchers", type=click.IntRange(0), help="Watch streams at once.")
@click.option("--sessions", type=click.IntRange(0), help="Worker sessions at once.")
@click.option("--retention", type=Duration(), help="How long ended workflows are kept; default 30d.")
@click.option("--tombstone-retention", type=Duration(), help="How long identity and fence are remembered after that; default 30d.")
@click.option("--label", "labels", type=Label(), multiple=True, help="Free facts; repeatable.")
@click.option("--description", default="", help="For people.")
@click.option("--etag", default="", help="Only if it is unchanged since it was read.")
@json_option
@connected
async def put_namespace(client: Client, /, *, name: str, as_json: bool, **options: Any) -> None:
    """Make a namespace, or replace its settings; a limit that is not given is none.

    perdure namespaces put acme --open-workflows 10000 --starts-per-second 50 --retention 7d
    """
    fields = ("open_workflows", "starts_per_second", "stored_bytes", "watchers", "sessions")
    limits = NamespaceLimits(**{field: options.pop(field) for field in fields})
    labels = dict(options.pop("labels"))
    stored = await client.namespaces.put(name, limits=limits, labels=labels, **options)
    Told(f"namespace {name} {'is made' if stored.created else 'is changed'}", {"created": stored.created}).say(as_json=as_json)


@namespaces.command("show")
@click.argument("name", metavar="NAME")
@json_option
@connected
async def show_namespace(client: Client, *, name: str, as_json: bool) -> None:
    """Show a namespace: its limits and what it uses."""
    found = await client.namespaces.get(name)
    if as_json:
        click.echo(message_json(found.message))
    else:
        console().print(facts((title.lower(), cell(found)) for title, cell in NAMESPACES.columns.items()))


@namespaces.command("list")
@list_options
@connected
async def list_namespaces(client: Client, *, shown: Shown, as_json: bool) -> None:
    """List namespaces with their use."""
    del as_json
    await NAMESPACES.show(client.namespaces.list(), shown)
