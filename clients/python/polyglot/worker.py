"""Python's worker of the relay: `clients/python/polyglot/run STEP FILE`. examples/polyglot/README.md says what such a worker does."""

import asyncio
import os
import sys
from pathlib import Path

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

from examples.polyglot.relay import relay
from perdure import Client
from perdure.definition_file import load_definition


def export_spans() -> None:
    """Sends each span when it ends, so that a worker that is killed later has told all it could."""
    provider = TracerProvider(resource=Resource.create({"service.name": "relay-python"}))
    provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(insecure=True)))
    trace.set_tracer_provider(provider)


async def main(step: str, file: Path) -> None:
    if "OTEL_EXPORTER_OTLP_ENDPOINT" in os.environ:
        export_spans()
    is_signed = "sign" in {one.name for one in load_definition(file).steps}
    async with Client() as client:
        await client.worker(relay(signed=is_signed), steps=[step]).run()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2])))
