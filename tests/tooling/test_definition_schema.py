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

FILES: dict[str, dict[str, str]] = yaml.safe_load(
    (definition_schema.TARGET.parents[1] / "tests/conformance/definition_files.yaml").read_text()
)
GOOD, BAD, BAD_FOR_SERVER = FILES["good"], FILES["bad"], FILES["bad_for_server"]


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


@pytest.mark.parametrize("text", BAD_FOR_SERVER.values(), ids=BAD_FOR_SERVER)
def test_what_the_server_refuses_is_refused_by_the_schema(text: str) -> None:
    assert complaints(text)
    with pytest.raises(FieldViolation):
        register(text)
