"""docs/definition.schema.json is fresh, and says of files what the parser and the server say."""

import json
from typing import Any

import jsonschema
import pytest
import yaml

from perdure.definition_file import parse_definition
from perdure.errors import DefinitionRejected
from perdure.file_reader import StrictLoader
from perdure_server.kernel.contracts import with_contracts
from perdure_server.kernel.rejection import FieldViolation
from perdure_server.kernel.reserved import reserved_names
from perdure_server.kernel.validation import validate
from perdure_server.rpc.decode import definitions as decode
from perdure_server.rpc.faults import Faults
from tools import definition_schema

RENEWAL_MS = 10_000

GOOD = {
    "the least": "{workflow_type: note, steps: {a: }}",
    "all of a head": """
        workflow_type: note.v2
        version: "1"
        description: of a recording
        output: b
        policy: {workflow_timeout: 7d, cancel_grace: 0s, max_lost_claims: 5, retention: 1h 30m}
        steps: {a: {}, b: {after: a}}
        hooks: {}
    """,
    "all of an activity": """
        workflow_type: note
        steps:
          a:
            needs: [input]
            retry: {max_attempts: 4, initial_interval: 1s, backoff_coefficient: 1.5, max_interval: 1500ms, jitter: 0, non_retryable: x}
            queue: gpu
            priority: 0
            on_exhausted: hold
            permits: {asr: 2, gpu: }
            version: "2"
            description: does it
            attempt_timeout: 2m
            silence_timeout: 90s
            step_timeout: 1w
            queue_timeout: 1.5h
            compensate_with: undo
          b: {after: [a], retry: {unlimited: true}}
          c: {after: [a], needs: a, retry: {unlimited: false, max_attempts: 1}}
          undo:
    """,
    "a choice": "{workflow_type: note, steps: {a: {branches: {yes_: [b], 'no': c}}, b: {after: a}, c: {after: a}}}",
    "waits": """
        workflow_type: note
        steps:
          one: {wait: {signal: go}}
          several: {after: one, wait: {any_of: [{signal: go.on, count: 3, name: went}, {after: 3d, name: late}]}}
          moment: {after: several, wait: {any_of: {at: 2030-01-01T00:00:00Z}}}
          quoted: {after: moment, wait: {at: "2030-01-01T00:00:00+02:00"}}
          either:
            after: quoted
            branches: {left: [l], right: [r]}
            wait: {any_of: [{signal: x, choose: left}, {after: 1s, choose: [right]}]}
          l: {after: either}
          r: {after: either}
    """,
    "children": """
        workflow_type: note
        steps:
          a:
          notify: {after: a, map: {workflow: notice, items: a, join: best_effort}, max_in_flight: 1000, parent_close: abandon}
          most: {after: a, needs: [a], map: {workflow: notice, items: a, join: 3}}
          crawl: {after: a, pages: {workflow: page}}
          archive: {after: a, child: {workflow: archive, input: a}, parent_close: terminate}
    """,
    "hooks": """
        workflow_type: note
        steps: {a: , tell: {needs: input}, undo: {needs: []}}
        hooks: {failure_finalizer: tell, prepare_replay: {step: undo, required: false}}
    """,
    "words of Go and TypeScript": "{workflow_type: note, steps: {select: , map: , export: , type: }}",
}

BAD = {
    "no type": "{steps: {a: }}",
    "no steps": "{workflow_type: note}",
    "an empty list of steps": "{workflow_type: note, steps: {}}",
    "a list of steps": "{workflow_type: note, steps: [a]}",
    "an unknown key": "{workflow_type: note, steps: {a: }, stages: {}}",
    "a version that is a number": "{workflow_type: note, version: 1.10, steps: {a: }}",
    "an unknown policy": "{workflow_type: note, policy: {patience: 1s}, steps: {a: }}",
    "a name with a dash": "{workflow_type: note, steps: {a-b: }}",
    "a name with a capital": "{workflow_type: note, steps: {A: }}",
    "the reserved name": "{workflow_type: note, steps: {input: }}",
    "an unknown key of a step": "{workflow_type: note, steps: {a: {colour: red}}}",
    "a step that is a list": "{workflow_type: note, steps: {a: [b]}}",
    "a duration without its unit": "{workflow_type: note, steps: {a: {attempt_timeout: 30}}}",
    "a duration in words": "{workflow_type: note, steps: {a: {attempt_timeout: soon}}}",
    "a priority in words": "{workflow_type: note, steps: {a: {priority: high}}}",
    "a truth value for a number": "{workflow_type: note, steps: {a: {priority: true}}}",
    "an unknown word": "{workflow_type: note, steps: {a: {on_exhausted: panic}}}",
    "a word in capitals": "{workflow_type: note, steps: {a: {on_exhausted: HOLD}}}",
    "an unknown retry": "{workflow_type: note, steps: {a: {retry: {times: 3}}}}",
    "unlimited in words": "{workflow_type: note, steps: {a: {retry: {unlimited: 'yes'}}}}",
    "permits as a list": "{workflow_type: note, steps: {a: {permits: [asr]}}}",
    "branches as a list": "{workflow_type: note, steps: {a: {branches: [b]}, b: {after: a}}}",
    "a wait for nothing": "{workflow_type: note, steps: {a: {wait: {}}}}",
    "a wait for two things at once": "{workflow_type: note, steps: {a: {wait: {signal: go, after: 1s}}}}",
    "a condition beside several": "{workflow_type: note, steps: {a: {wait: {any_of: [{signal: go}], after: 1s}}}}",
    "a count of no signals": "{workflow_type: note, steps: {a: {wait: {after: 1s, count: 2}}}}",
    "a time that is none": "{workflow_type: note, steps: {a: {wait: {at: tomorrow}}}}",
    "an unknown condition": "{workflow_type: note, steps: {a: {wait: {until: 1s}}}}",
    "a wait with retries": "{workflow_type: note, steps: {a: {wait: {signal: go}, retry: {}}}}",
    "a wait with a timeout": "{workflow_type: note, steps: {a: {wait: {signal: go}, step_timeout: 1s}}}",
    "a wait with children": "{workflow_type: note, steps: {a: {wait: {signal: go}, child: {workflow: b}}}}",
    "two kinds of children": "{workflow_type: note, steps: {a: {child: {workflow: b}, map: {workflow: b}}}}",
    "an option of children without any": "{workflow_type: note, steps: {a: {max_in_flight: 3}}}",
    "a join in words": "{workflow_type: note, steps: {a: {map: {workflow: b, join: most}}}}",
    "an unknown way to close": "{workflow_type: note, steps: {a: {child: {workflow: b}, parent_close: ignore}}}",
    "an unknown hook": "{workflow_type: note, steps: {a: }, hooks: {on_failure: a}}",
    "a hook that may in words": "{workflow_type: note, steps: {a: , b: }, hooks: {on_success: {step: b, required: 'no'}}}",
}
"""What the parser refuses, too."""

BAD_FOR_THE_SERVER = {
    "a type with a space": "{workflow_type: a note, steps: {a: }}",
    "a reserved word": "{workflow_type: note, steps: {class: }}",
    "no attempts": "{workflow_type: note, steps: {a: {retry: {max_attempts: 0}}}}",
    "too much jitter": "{workflow_type: note, steps: {a: {retry: {jitter: 2}}}}",
    "a shrinking interval": "{workflow_type: note, steps: {a: {retry: {backoff_coefficient: 0.5}}}}",
    "too high a priority": "{workflow_type: note, steps: {a: {priority: 10}}}",
    "a negative count": "{workflow_type: note, steps: {a: {wait: {signal: go, count: -1}}}}",
    "no lost claims": "{workflow_type: note, policy: {max_lost_claims: 0}, steps: {a: }}",
    "children of no type": "{workflow_type: note, steps: {a: {child: {}}}}",
    "too many children": "{workflow_type: note, steps: {a: {map: {workflow: b}, max_in_flight: 1001}}}",
    "a negative permit": "{workflow_type: note, steps: {a: {permits: {asr: -1}}}}",
}
"""What the parser lets pass, and the server refuses."""


class PlainLoader(StrictLoader):
    """As editors see a file: a time is text."""


PlainLoader.yaml_implicit_resolvers = {
    first: [pair for pair in pairs if pair[0] != "tag:yaml.org,2002:timestamp"]
    for first, pairs in StrictLoader.yaml_implicit_resolvers.items()
}

VALIDATOR = jsonschema.Draft7Validator(definition_schema.schema())


def complaints(text: str) -> list[str]:
    """What the schema says of a file."""
    document: Any = yaml.load(text, Loader=PlainLoader)
    return [error.message for error in VALIDATOR.iter_errors(document)]


def register(text: str) -> None:
    """What the server does with it. Raises FieldViolation."""
    faults = Faults()
    definition = decode.definition(parse_definition(text), "default", faults)
    faults.check()
    validate(definition, RENEWAL_MS)
    with_contracts(definition)
    reserved = reserved_names(definition)
    if reserved:
        raise FieldViolation(reserved)


def test_the_schema_is_fresh_and_sound() -> None:
    assert json.loads(definition_schema.TARGET.read_text()) == definition_schema.schema(), "run `python -m tools.definition_schema`"
    jsonschema.Draft7Validator.check_schema(definition_schema.schema())


@pytest.mark.parametrize("text", GOOD.values(), ids=GOOD)
def test_what_is_good_is_good_for_all(text: str) -> None:
    assert complaints(text) == []
    register(text)


@pytest.mark.parametrize("text", BAD.values(), ids=BAD)
def test_what_the_parser_refuses_is_refused_by_the_schema(text: str) -> None:
    assert complaints(text)
    with pytest.raises(DefinitionRejected):
        parse_definition(text)


@pytest.mark.parametrize("text", BAD_FOR_THE_SERVER.values(), ids=BAD_FOR_THE_SERVER)
def test_what_the_server_refuses_is_refused_by_the_schema(text: str) -> None:
    assert complaints(text)
    with pytest.raises(FieldViolation):
        register(text)
