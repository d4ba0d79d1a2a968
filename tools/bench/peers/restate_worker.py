"""The Python worker for Restate, served by Hypercorn as its documentation says."""

import time

import restate
from restate import Workflow, WorkflowContext, WorkflowSharedContext

job = Workflow("Job")
parked = Workflow("Parked")


async def nothing() -> None:
    """A step."""


async def moment() -> float:
    """When this line ran."""
    return time.time()


@job.main()
async def run(ctx: WorkflowContext, _: None) -> None:
    """Three steps, each stored before the next."""
    await ctx.run_typed("first", nothing)
    await ctx.run_typed("second", nothing)
    await ctx.run_typed("third", nothing)


@parked.main(name="run")
async def wait(ctx: WorkflowContext, _: None) -> float:
    """A step behind a signal."""
    await ctx.promise("go", type_hint=str).value()
    return await ctx.run_typed("resumed", moment)


@parked.handler()
async def go(ctx: WorkflowSharedContext, _: None) -> None:
    """The signal."""
    await ctx.promise("go", type_hint=str).resolve("now")


app = restate.app(services=[job, parked])
