// The files of tests/conformance/definition_files.yaml, which the parsers of all languages take or refuse alike.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { DefinitionRejected, ErrorReason, parseDefinition } from "@perdure/client";
import { parse } from "yaml";

import { repositoryFile } from "./places.js";

const files = parse(readFileSync(repositoryFile("tests/conformance/definition_files.yaml"), "utf8")) as Record<string, Record<string, string>>;

function filesOf(kind: string): readonly (readonly [string, string])[] {
  const found = Object.entries(files[kind] ?? {});
  assert.notEqual(found.length, 0, `no files are ${kind}`);
  return found;
}

for (const [name, text] of filesOf("good")) {
  test(`taken: ${name}`, () => {
    parseDefinition(text);
  });
}

for (const [name, text] of filesOf("bad")) {
  test(`refused, and the place is named: ${name}`, () => {
    assert.throws(
      () => parseDefinition(text),
      (error) => {
        assert.ok(error instanceof DefinitionRejected, String(error));
        assert.equal(error.reason, ErrorReason.DEFINITION_INVALID);
        assert.ok(error.violations.length > 0 || error.message.startsWith("not YAML"), error.message);
        return true;
      },
    );
  });
}
