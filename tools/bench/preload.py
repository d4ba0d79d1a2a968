"""Fills a store with waiting workflows, faster than by starts: copies of one that was really started, under keys of their own."""

import os
from collections.abc import Iterator
from typing import Any

import bson
from bson.raw_bson import RawBSONDocument
from pymongo import MongoClient

from perdure_server.kernel.workflow import WorkflowKey

BATCH = 1_000


def preload(mongo_url: str, original: WorkflowKey, numbers: range, database: str = "perdure") -> None:
    """Insert copies of a workflow that was started, under the keys `preloaded-N`."""
    client: MongoClient[dict[str, Any]] = MongoClient(mongo_url)
    try:
        workflows = client[database]["workflows"]
        template = workflows.find_one({"_id": bson.Binary(original.workflow_id)})
        assert template is not None, "it was started"
        for first in range(numbers.start, numbers.stop, BATCH):
            workflows.insert_many(list(_copies(template, range(first, min(numbers.stop, first + BATCH)))), ordered=False)
    finally:
        client.close()


def _copies(template: dict[str, Any], numbers: range) -> Iterator[RawBSONDocument]:
    for number in numbers:
        key = WorkflowKey(template["namespace"], template["workflow_type"], f"preloaded-{number}")
        own = {"_id": bson.Binary(key.workflow_id), "business_key": key.business_key, "run_id": os.urandom(12).hex()}
        yield RawBSONDocument(bson.encode({**template, **own}))
