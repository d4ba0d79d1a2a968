"""Seeds that once showed a fault, each with what it was. The test beside the code that was wrong says it in small."""

import pytest

from tests.simulation.world import run_seed

KEPT = {
    70: "a dead session refused a token that it had held: its claim was un-granted, not lost, and max_attempts=1 began twice",
    147: "the same",
    44: "a renewal that came late took the acknowledgement of a later one away, and max_attempts=1 began twice",
    72: "a hello read a state from before the grant, and told the worker that its claim was lost; with permits in the plans",
    632: "a server remembered a throttled step as paused, for ever, and nobody gave it the permits that were free",
    634: "the duty to close the children of a superseded round was lost, and the one to tend them stayed",
    818: "a pass over children went on with the next round of their parent, and took its children for created",
    1430: "a renewal that waited while its stream ended stored that nothing was held, and max_attempts=1 began twice",
    256: "a duty to close a child that was removed was tried for ever, and kept its parent for ever",
    442: "a watcher that was slow was told a tombstone as the end, without the changes before it",
    3005: "a grant that was stored late was delivered to nobody, and its slot was lost",
    6: "a copy of a step that was claimed had no queue time any more",
    71: "an ended workflow was told to have run by policies that came after its end",
    269: "a firing that may have happened waited again after a refusal, and the next one began beside it",
    865: "a step of a copy was in its state since a moment that was not yet",
    2497: "a copy had begun, and had done things, at times that were not yet",
    2736: "the judge: a worker may end what a person is about to terminate",
    2938: "the late answer to a result that came twice brought a next claim again, which had ended since",
    6260: "the same",
    2968: "a migration took away the options of a step that had not begun",
    4204: "payloads of an archived round went before it, as its key was deleted",
    3689: "a claim that another server had taken away was compared once, met a store that was away, and was never told to its worker",
}


@pytest.mark.parametrize("seed", KEPT)
def test_a_kept_seed_keeps_every_promise(seed: int) -> None:
    run_seed(seed)
