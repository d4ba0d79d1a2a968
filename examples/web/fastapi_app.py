"""`python -m examples.web.fastapi_app [--port PORT]`: the service on FastAPI and `perdure`."""

import argparse
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Annotated, Any

import uvicorn
from fastapi import Body, FastAPI, Header, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse

from examples.web.answers import EVENT_STREAM, error_answer, event_answer, status_of, workflow_answer
from examples.web.plan import Export, export
from perdure import Client, PerdureError


def create_app() -> FastAPI:
    """The app. Its client is made on the loop that serves, and closed with it."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with Client() as client:
            app.state.client = client
            yield

    app = FastAPI(lifespan=lifespan)

    @app.post("/exports/{key}", status_code=201)
    async def start(key: str, asked: Export, request: Request, response: Response) -> dict[str, Any]:
        # The key is the caller's: a double click, or a retry after a lost answer, meets the same workflow.
        run = await client_of(request).start(export, key=key, input=asked)
        response.status_code = 201 if run.created else 200
        return {"created": run.created}

    @app.get("/exports/{key}")
    async def show(key: str, request: Request) -> dict[str, Any]:
        return workflow_answer(await client_of(request).get(export, key))

    @app.post("/exports/{key}/approve")
    async def approve(key: str, by: Annotated[str, Body(embed=True)], request: Request) -> dict[str, Any]:
        # One yes per export, however often it is clicked.
        told = await client_of(request).run(export, key).signal("approve", by, signal_id="approve")
        return {"duplicate": told.duplicate}

    @app.get("/exports/{key}/events")
    async def events(key: str, request: Request, last_event_id: Annotated[str, Header()] = "") -> StreamingResponse:
        run = client_of(request).run(export, key)
        await run.get()  # a 404 has to come before the first byte

        async def stream() -> AsyncIterator[str]:
            async with aclosing(run.watch(resume_token=last_event_id)) as watching:
                async for event in watching:
                    yield event_answer(event)

        return StreamingResponse(stream(), media_type=EVENT_STREAM)

    @app.exception_handler(PerdureError)
    async def refused(request: Request, error: PerdureError) -> JSONResponse:
        del request
        return JSONResponse(error_answer(error), status_of(error))

    return app


def client_of(request: Request) -> Client:
    client: Client = request.app.state.client
    return client


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8000)
    uvicorn.run(create_app(), host="127.0.0.1", port=parser.parse_args().port)
