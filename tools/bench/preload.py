"""Fills a store with waiting workflows, faster than by starts: copies of one that was really started, under keys of their own."""

import os
from collections.abc import Iterator
from typing import Any

import bson
from bson.raw_bson import RawBSONDocument
from pymongo import MongoClient

from perdure_server.kernel.workflow import WorkflowKey

BATCH = 1_000


def preload(mongo_url: str, workflow_type: str, there: int, count: int, database: str = "perdure") -> None:
    """Insert copies of the one workflow of this type that was started, until there are `count`; `there` were inserted before."""
    client: MongoClient[dict[str, Any]] = MongoClient(mongo_url)
    try:
        workflows = client[database]["workflows"]
        template = workflows.find_one({"workflow_type": workflow_type, "business_key": {"$not": {"$regex": "^preloaded-"}}}) or {}
        for first in range(there, count, BATCH):
            workflows.insert_many(list(_copies(template, range(first, min(count, first + BATCH)))), ordered=False)
    finally:
        client.close()


def _copies(template: dict[str, Any], numbers: range) -> Iterator[RawBSONDocument]:
    for number in numbers:
        key = WorkflowKey(template["namespace"], template["workflow_type"], f"preloaded-{number}")
        own = {"_id": bson.Binary(key.workflow_id), "business_key": key.business_key, "run_id": os.urandom(12).hex()}
        yield RawBSONDocument(bson.encode({**template, **own}))
