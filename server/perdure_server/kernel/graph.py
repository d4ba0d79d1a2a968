"""The graph of dependencies: what can never begin, and why. Iterative, since a chain of thousands must not meet the recursion limit."""

from perdure_server.kernel.definition import Definition


def find_cycle(definition: Definition) -> list[str]:
    """A cycle of the dependencies as a path that ends where it began, each step depending on the next; or []."""
    return next(iter(find_cycles(definition)), [])


def find_cycles(definition: Definition) -> list[list[str]]:
    """One cycle of every knot of dependencies, so that each has to be repaired by itself. Deterministic; unknown names are passed over."""
    found: list[list[str]] = []
    edges = _edges(definition)
    while stuck := _stuck(edges):
        cycle = _walk(edges, stuck)
        found.append(cycle)
        # What hangs on this cycle is no fault of its own: the cycle counts as done from here on.
        closed = set(cycle)
        edges = {name: edges[name] for name in stuck if name not in closed}
    return found


def unreachable(definition: Definition) -> set[str]:
    """The steps that can never begin: those of cycles, and those that depend on them."""
    return set(_stuck(_edges(definition)))


def _edges(definition: Definition) -> dict[str, list[str]]:
    known = {step.name for step in definition.steps}
    return {step.name: [name for name in step.depends_on if name in known] for step in definition.steps}


def _stuck(edges: dict[str, list[str]]) -> list[str]:
    # What is left when everything that can be done is done. Needs outside of `edges` count as done.
    open_needs = {name: {needed for needed in needs if needed in edges} for name, needs in edges.items()}
    dependants: dict[str, list[str]] = {name: [] for name in edges}
    for name, needs in open_needs.items():
        for needed in needs:
            dependants[needed].append(name)
    done = [name for name, needs in open_needs.items() if not needs]
    for name in done:
        for dependant in dependants[name]:
            open_needs[dependant].discard(name)
            if not open_needs[dependant]:
                done.append(dependant)
    finished = set(done)
    return [name for name in edges if name not in finished]


def _walk(edges: dict[str, list[str]], stuck: list[str]) -> list[str]:
    # Every stuck step needs a stuck step, so following needs must come back to where it has been.
    among = set(stuck)
    path = [stuck[0]]
    place = {stuck[0]: 0}
    while True:
        needed = next(name for name in edges[path[-1]] if name in among)
        if needed in place:
            return [*path[place[needed] :], needed]
        place[needed] = len(path)
        path.append(needed)
