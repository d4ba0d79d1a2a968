"""Where the inputs of children come from: an array, a page, or what a child step needs."""

import json
from collections import OrderedDict
from collections.abc import Mapping, Sequence

from perdure_server.kernel.children import SourceInvalid, items_of, source_of, unpack
from perdure_server.kernel.definition import StepDefinition, StepKind
from perdure_server.kernel.values import Payload
from perdure_server.kernel.workflow import Workflow
from perdure_server.ports.store import Payloads

_KEPT = 8
_JSON = "application/json"


class ChildInputs:
    """Reads sources, and keeps the last few that it took apart."""

    def __init__(self, payloads: Payloads) -> None:
        self._payloads = payloads
        self._kept: OrderedDict[tuple[str, str, int, int], Sequence[str | Payload]] = OrderedDict()

    async def count(self, workflow: Workflow, plan: StepDefinition) -> int:
        """How many items the source of a map step has. Raises SourceInvalid, StoreUnavailable."""
        return len(await self._items(workflow, plan))

    async def of(self, workflow: Workflow, plan: StepDefinition, indexes: Sequence[int]) -> Mapping[int, Payload | None]:
        """The input of each child. Raises SourceInvalid, StoreUnavailable."""
        if plan.kind is StepKind.CHILD:
            value = await self._single(workflow, plan)
            return dict.fromkeys(indexes, value)
        children = workflow.steps[plan.name].children
        first = children.page_start if children is not None else 0
        items = await self._items(workflow, plan)
        found: dict[int, Payload | None] = {}
        for index in indexes:
            if not 0 <= index - first < len(items):
                raise SourceInvalid(f"it has no item {index}")
            item = items[index - first]
            found[index] = Payload(json=item, content_type=_JSON) if isinstance(item, str) else item
        return found

    async def resolved(self, run_id: str, payload: Payload | None) -> Payload | None:
        """The value itself, if it lies in a document of its own. Raises SourceInvalid if that is gone, StoreUnavailable."""
        if payload is None or payload.ref is None:
            return payload
        found = (await self._payloads.get(run_id, [payload.ref.payload_id])).get(payload.ref.payload_id)
        if found is None:
            raise SourceInvalid("its value is gone")
        return found

    async def _items(self, workflow: Workflow, plan: StepDefinition) -> Sequence[str | Payload]:
        step = workflow.steps[plan.name]
        children, child = step.children, plan.child
        if children is None or child is None:
            raise SourceInvalid("the step has no children")
        place = (workflow.run_id, plan.name, step.generation, children.page_start)
        known = self._kept.get(place)
        if known is not None:
            self._kept.move_to_end(place)
            return known
        source = await self.resolved(workflow.run_id, children.page if child.paged else source_of(workflow, child.source))
        found: Sequence[str | Payload] = unpack(source) if child.paged and source is not None else () if child.paged else items_of(source)
        self._kept[place] = found
        if len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return found

    async def _single(self, workflow: Workflow, plan: StepDefinition) -> Payload | None:
        source = plan.child.source if plan.child is not None else ""
        if source:
            return await self.resolved(workflow.run_id, source_of(workflow, source))
        parts: list[str] = []
        for name in plan.needs:
            value = await self.resolved(workflow.run_id, source_of(workflow, name))
            if value is not None:
                if value.json is None or value.encoding:
                    raise SourceInvalid(f"{name} is no JSON value that the server may look into")
                parts.append(f"{json.dumps(name)}:{value.json}")
        return Payload(json="{" + ",".join(parts) + "}", content_type=_JSON)
