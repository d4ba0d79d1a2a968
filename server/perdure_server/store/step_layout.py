"""Where the steps of an instance lie in its document.

Up to `PLAIN_STEPS` steps are sub-documents of `steps`, readable in mongosh. Of larger workflows only those that have not ended are; the
ended ones are packed by MessagePack in chunks of `packed_steps`, a step's chunk following from its name alone: a thousand sub-documents
make every write of a store slow, sixteen binaries do not. BLOCKED steps are in neither.
"""

from functools import lru_cache
from typing import Any, Final
from zlib import crc32

from msgspec import Struct, msgpack

from perdure_server.kernel import limits
from perdure_server.kernel.workflow import STEP_ENDS, Step, Workflow
from perdure_server.store.step_documents import encode_step, encode_steps

Document = dict[str, Any]

_packed_steps: Final = msgpack.Decoder(dict[str, Step])


class Update(Struct):
    """What one conditional write changes: the operands of `$set` and `$unset`, by dotted path."""

    set: Document
    unset: Document

    def operators(self) -> Document:
        """The update document; an empty operator is refused by servers before MongoDB 5, so it is left out."""
        found: Document = {}
        if self.set:
            found["$set"] = self.set
        if self.unset:
            found["$unset"] = self.unset
        return found


def unpack(packed: Document) -> dict[str, Step]:
    """The steps in the chunks of a stored document. Raises msgspec.ValidationError or msgspec.DecodeError (a ValueError, too)."""
    steps: dict[str, Step] = {}
    for chunk in packed.values():
        steps.update(_packed_steps.decode(chunk))
    return steps


def chunk_count(workflow: Workflow) -> int:
    """How many chunks the ended steps are spread over; 0 = every step is plain."""
    return -(-workflow.step_count // limits.PLAIN_STEPS) if workflow.step_count > limits.PLAIN_STEPS else 0


@lru_cache(maxsize=65_536)
def _chunk_of(name: str, chunks: int) -> str:
    return str(crc32(name.encode()) % chunks)


def change_steps(old: Workflow, new: Workflow, update: Update) -> None:
    """Adds to `update` what makes the stored steps of `old` those of `new`; steps are compared by identity."""
    chunks = chunk_count(new)
    stale: set[str] = set()
    for name, step in new.steps.items():
        before = old.steps.get(name)
        if before is step:
            continue
        was_packed = bool(chunks) and before is not None and before.state in STEP_ENDS
        is_packed = bool(chunks) and step.state in STEP_ENDS
        if was_packed or is_packed:
            stale.add(_chunk_of(name, chunks))
        if not is_packed:
            update.set[f"steps.{name}"] = encode_step(step)
        elif before is not None and not was_packed:
            update.unset[f"steps.{name}"] = ""
    for name in old.steps.keys() - new.steps.keys():
        if chunks and old.steps[name].state in STEP_ENDS:
            stale.add(_chunk_of(name, chunks))
        else:
            update.unset[f"steps.{name}"] = ""
    if stale:
        _writechunk_count(new, stale, update)
    if len(update.set) + len(update.unset) > limits.PLAIN_STEPS:
        _as_one(new, update)


def _as_one(new: Workflow, update: Update) -> None:
    """Many plain steps are written as one value: each path costs the store more the more there are (2,000 of them 16 s in secantus)."""
    for operand in (update.set, update.unset):
        for path in [path for path in operand if path.startswith("steps.")]:
            del operand[path]
    update.set["steps"] = _plain(new)


def _plain(workflow: Workflow) -> dict[str, Document]:
    chunked = chunk_count(workflow) > 0
    return {name: encode_step(step) for name, step in workflow.steps.items() if not (chunked and step.state in STEP_ENDS)}


def _writechunk_count(new: Workflow, stale: set[str], update: Update) -> None:
    members = _packed(new, stale)
    for chunk in stale:
        if chunk in members:
            update.set[f"packed_steps.{chunk}"] = msgpack.encode(members[chunk])
        else:
            update.unset[f"packed_steps.{chunk}"] = ""


def _packed(workflow: Workflow, wanted: set[str] | None) -> dict[str, dict[str, Step]]:
    chunks = chunk_count(workflow)
    members: dict[str, dict[str, Step]] = {}
    for name, step in workflow.steps.items():
        if step.state in STEP_ENDS:
            chunk = _chunk_of(name, chunks)
            if wanted is None or chunk in wanted:
                members.setdefault(chunk, {})[name] = step
    return members


def pack_all(workflow: Workflow, document: Document) -> None:
    """Lays out all steps of a large workflow: ended ones in chunks, the others plain."""
    document["steps"] = _plain(workflow)
    packed = {chunk: msgpack.encode(members) for chunk, members in _packed(workflow, None).items()}
    if packed:
        document["packed_steps"] = packed


def lay_out_again(new: Workflow, update: Update) -> None:
    """The number of steps crossed a bound of the layout: all steps are written anew."""
    for operand in (update.set, update.unset):
        for path in [path for path in operand if path.startswith(("steps.", "packed_steps."))]:
            del operand[path]
    if chunk_count(new):
        pack_all(new, update.set)
    else:
        update.set["steps"] = encode_steps(new.steps)
    if "packed_steps" not in update.set:
        update.unset["packed_steps"] = ""
