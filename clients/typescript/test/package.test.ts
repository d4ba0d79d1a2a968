// The package as others get it: both module systems, one version, a lock without addresses, a README that is cut from the samples.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { test } from "node:test";

import * as esm from "@perdure/client";
import * as stubs from "@perdure/client/stubs";
import * as testing from "@perdure/client/testing";

import { PACKAGE, repositoryFile } from "./places.js";

const require = createRequire(import.meta.url);
const manifest = JSON.parse(readFileSync(join(PACKAGE, "package.json"), "utf8")) as { version: string };

test("ESM and CommonJS have the same names", () => {
  const names = (found: object): readonly string[] => Object.keys(found).filter((name) => name !== "default" && name !== "module.exports").sort();
  assert.deepEqual(names(require("@perdure/client") as object), names(esm));
  assert.deepEqual(names(require("@perdure/client/stubs") as object), names(stubs));
  assert.deepEqual(names(require("@perdure/client/testing") as object), names(testing));
});

test("what is public changes on purpose only", () => {
  const expected = [
    ...["AES_GCM", "AccessDenied", "ActivityCancelled", "ActivityStep", "AesGcm", "AlreadyExists", "CallTimeout", "Chosen", "ClaimLost", "Client"],
    ...["Conflict", "DEFAULT_ADDRESS", "Definition", "DefinitionRejected", "Definitions", "ErrorReason", "Failure", "InvalidRequest", "NO_VALUE"],
    ...["NotAllowed", "NotFound", "NotImplementedYet", "Overloaded", "Page", "PayloadRejected", "PayloadUndecodable", "PerdureError", "RawPayload"],
    ...["Resources", "Run", "ServerFault", "Step", "Unavailable", "VERSION", "Wait", "Woken", "Worker", "Workflow", "WorkflowCancelled"],
    ...["WorkflowFailed", "WorkflowNotCompleted", "WorkflowTerminated", "choose", "describe", "isEnded", "loadDefinition", "page", "parseDefinition"],
    ...["parseJson", "parseKeyRing", "reasonOf", "serve", "stringifyJson", "type", "waitsFor"],
  ];
  assert.deepEqual(Object.keys(esm).sort(), expected.sort());
});

test("the version is that of the package and of the server", () => {
  assert.equal(esm.VERSION, manifest.version);
  assert.match(readFileSync(repositoryFile("pyproject.toml"), "utf8"), new RegExp(`^version = "${manifest.version.replaceAll(".", "\\.")}"$`, "m"));
});

test("reasons are those of the proto", () => {
  assert.equal(esm.ErrorReason.CLAIM_LOST, "CLAIM_LOST");
  const numbers = Object.keys(stubs.ErrorReason).filter((name) => !/^\d+$/.test(name) && name !== "UNSPECIFIED");
  assert.deepEqual(Object.keys(esm.ErrorReason), numbers);
});

test("the lock names no registry", () => {
  assert.doesNotMatch(readFileSync(join(PACKAGE, "package-lock.json"), "utf8"), /"resolved"|https?:\/\/registry/);
});

test("the README's programs are the samples", () => {
  execFileSync(process.execPath, [join(PACKAGE, "scripts/readme.mjs"), "--check"], { stdio: "pipe" });
});
