"""Fills a store with waiting workflows, faster than by starts: copies of one that was really started, under keys of their own."""

import os
from collections.abc import Iterator
from typing import Any

import bson
from bson.raw_bson import RawBSONDocument
from msgspec.structs import replace
from pymongo import MongoClient

from perdure_server.kernel.workflow import Workflow
from perdure_server.store.documents import decode, encode

BATCH = 1_000


def preload(mongo_url: str, workflow_type: str, count: int, database: str = "perdure") -> None:
    """Insert `count` copies of the one workflow of this type that is there."""
    client: MongoClient[dict[str, Any]] = MongoClient(mongo_url)
    try:
        workflows = client[database]["workflows"]
        template = decode(workflows.find_one({"workflow_type": workflow_type}) or {})
        for first in range(0, count, BATCH):
            numbers = range(first, min(count, first + BATCH))
            workflows.insert_many([RawBSONDocument(bson.encode(document)) for document in _copies(template, numbers)], ordered=False)
    finally:
        client.close()


def _copies(template: Workflow, numbers: range) -> Iterator[dict[str, Any]]:
    for number in numbers:
        key = replace(template.key, business_key=f"preloaded-{number}")
        yield encode(replace(template, key=key, run_id=os.urandom(12).hex()))
