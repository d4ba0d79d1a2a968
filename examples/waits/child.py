"""What is waited for is a workflow itself: a child, with its own name, history, retries and end."""

from perdure import Client, Context, Definition, Run

parcel = Definition("waits_parcel")


@parcel.step()
async def deliver(_: Context[None], input: str) -> str:
    return f"delivered to {input}"


definition = Definition("waits_child")
delivery = definition.child("delivery", parcel, input="input")


@definition.step()
async def thank(_: Context[None], delivery: str) -> str:
    return f"{delivery}: thank you"


async def demo(client: Client) -> Run:
    return await client.start(definition, key="demo", input="ada")
