"""What a case need not say: the fields of a request that are usual, and the definition files that all languages read."""

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml

FILES: Final = Path(__file__).parent / "definition_files.yaml"
KEY: Final = "k"
CLIENT: Final = "c"
WORKER: Final = "w"
WATCH: Final = "watch"

OF_WORKFLOW: Final = frozenset(
    {"start", "result", "get", "watch", "cancel", "terminate", "pause", "resume", "replay", "delete", "children", "attempts", "explain"}
)
OF_WORKER: Final = frozenset({"drain", "stop", "go_on"})
WITHOUT_CLIENT: Final = OF_WORKER | {"unwatch", "resume_call"}


def fill_in(request: str, fields: dict[str, Any], definitions: Mapping[str, object]) -> None:
    """Puts in what the case has left out."""
    if request not in WITHOUT_CLIENT:
        fields.setdefault("client", CLIENT)
    if request in OF_WORKFLOW or (request == "signal" and "wake_token" not in fields):
        fields.setdefault("type", next(iter(definitions), ""))
        fields.setdefault("key", KEY)
    if request in OF_WORKER | {"work"}:
        fields.setdefault("worker", WORKER)
    if request in {"watch", "unwatch"}:
        fields.setdefault("watch", WATCH)
    if request == "work":
        fields.setdefault("definitions", list(definitions))
        fields.setdefault("behaviour", [])


@functools.cache
def good_files() -> list[str]:
    """The definition files that every language takes."""
    return [*yaml.safe_load(FILES.read_text(encoding="utf-8"))["good"].values()]
