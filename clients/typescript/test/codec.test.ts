// The vectors that the clients of all languages share, both ways.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { create, equals, toBinary } from "@bufbuild/protobuf";

import { AesGcm, parseKeyRing } from "../src/aes-gcm.js";
import { canonical } from "../src/canonical.js";
import { Kind } from "../src/codec.js";
import { InvalidRequest, PayloadUndecodable } from "../src/errors.js";
import { StartWorkflowRequestSchema } from "../src/gen/perdure/v1/workflow_service_pb.js";
import { FailureSchema, type Payload, PayloadSchema } from "../src/gen/perdure/v1/payload_pb.js";
import { decode } from "../src/payloads.js";
import { seal, unseal } from "../src/sealing.js";
import { repositoryFile } from "./places.js";

interface Vector {
  readonly name: string;
  readonly key: string;
  readonly nonce: string;
  readonly content_type: string;
  readonly digest: string;
  readonly json?: string;
  readonly binary?: string;
  readonly canonical?: string;
  readonly encoded?: string;
  readonly encoded_sha256?: string;
  readonly repeated?: { readonly text: string; readonly times: number };
}

interface Vectors {
  readonly key_file: unknown;
  readonly values: readonly Vector[];
  readonly failures: readonly { nonce: string; message: string; details: { json: string }; serialized: string; encoded: string }[];
  readonly refused: readonly { name: string; content_type: string; encoded: string; cause: string }[];
}

const vectors = JSON.parse(readFileSync(repositoryFile("tests/conformance/codec_vectors.json"), "utf8")) as Vectors;
const ring = parseKeyRing(JSON.stringify(vectors.key_file));
const raw = (text: string): Buffer => Buffer.from(text, "base64");

function plainPayload(vector: Vector): Payload {
  const contentType = vector.content_type;
  if (vector.binary !== undefined) return create(PayloadSchema, { data: { case: "binary", value: raw(vector.binary) }, contentType });
  const { repeated } = vector;
  const text = repeated === undefined ? (vector.json ?? "") : JSON.stringify(repeated.text.repeat(repeated.times));
  return create(PayloadSchema, { data: { case: "json", value: text }, contentType });
}

for (const vector of vectors.values) {
  test(`a value is encoded and decoded as the vector says: ${vector.name}`, () => {
    const codec = new AesGcm({ ...ring, active: vector.key });
    const payload = plainPayload(vector);
    const { data } = payload;
    const plain = data.case === "binary" ? data.value : Buffer.from(data.case === "json" ? data.value : "");
    const kind = data.case === "binary" ? Kind.BINARY : Kind.JSON;
    const encoded = codec.encodeWith(raw(vector.nonce), Buffer.concat([Buffer.from([kind]), plain]), vector.content_type);
    if (vector.encoded !== undefined) assert.equal(Buffer.from(encoded).toString("base64"), vector.encoded);
    else assert.equal(createHash("sha256").update(encoded).digest("base64"), vector.encoded_sha256);

    const sealed = create(PayloadSchema, { data: { case: "binary", value: encoded }, encoding: "aes-gcm", contentType: vector.content_type });
    unseal(PayloadSchema, sealed, codec);
    assert.deepEqual(toBinary(PayloadSchema, sealed), toBinary(PayloadSchema, payload));

    const start = create(StartWorkflowRequestSchema, { input: payload });
    seal(StartWorkflowRequestSchema, start, codec);
    assert.equal(start.input?.digest, vector.digest);
    assert.equal(start.input.encoding, "aes-gcm");
    if (vector.canonical !== undefined && vector.json !== undefined) assert.equal(canonical(vector.json), vector.canonical);
  });
}

for (const vector of vectors.failures) {
  test("a failure is encoded and decoded as the vector says", () => {
    const codec = new AesGcm(ring);
    const plain = Buffer.concat([Buffer.from([Kind.FAILURE]), raw(vector.serialized)]);
    assert.equal(Buffer.from(codec.encodeWith(raw(vector.nonce), plain, "")).toString("base64"), vector.encoded);
    const failure = create(FailureSchema, {
      type: "asr.quota",
      nonRetryable: true,
      details: { data: { case: "binary", value: raw(vector.encoded) }, encoding: "aes-gcm" },
    });
    unseal(FailureSchema, failure, codec);
    assert.equal(failure.message, vector.message);
    assert.deepEqual(failure.details?.data, { case: "json", value: vector.details.json });
    const again = create(FailureSchema, failure);
    seal(FailureSchema, again, codec);
    assert.deepEqual([again.type, again.message, again.nonRetryable, again.details?.encoding], ["asr.quota", "", true, "aes-gcm"]);
    unseal(FailureSchema, again, codec);
    assert.ok(equals(FailureSchema, again, failure));
  });
}

for (const vector of vectors.refused) {
  test(`what does not decode says why: ${vector.name}`, () => {
    const decoding = (): unknown => new AesGcm(ring).decode(raw(vector.encoded), vector.content_type);
    assert.throws(decoding, (error) => error instanceof PayloadUndecodable && error.fault === vector.cause);
  });
}

test("a value that cannot be decoded is an error for who asks for it, and says why", () => {
  const mine = new AesGcm(ring);
  const other = new AesGcm({ active: "other", keys: { other: Buffer.alloc(32, 7) }, digestKey: Buffer.alloc(32) });
  const payload = create(PayloadSchema, { data: { case: "json", value: '"secret"' } });
  seal(PayloadSchema, payload, other);
  unseal(PayloadSchema, payload, mine);
  assert.throws(() => decode(payload), (error) => error instanceof PayloadUndecodable && error.fault === "key_missing" && error.message.includes("key other"));
  assert.throws(() => decode(create(PayloadSchema, { data: { case: "binary", value: raw("AA==") }, encoding: "rot13" })), /no codec named "rot13"/);
});

test("a key ring with a fault is refused by name", () => {
  const key = Buffer.alloc(32).toString("base64");
  const rings: readonly [string, RegExp][] = [
    ["{", /is JSON, and this is not/],
    [`{"active":"k1","keys":{"k1":"AA"},"digest_key":"${key}"}`, /keys.k1 is not base64/],
    [`{"active":"k2","keys":{"k1":"${key}"},"digest_key":"${key}"}`, /the active key "k2" is not among the keys: k1/],
    [`{"active":"k 1","keys":{"k 1":"${key}"},"digest_key":"${key}"}`, /a key's id has/],
    [`{"active":"k1","keys":{"k1":"AAAA"},"digest_key":"${key}"}`, /key k1 has 3 bytes; AES-256 needs 32/],
  ];
  for (const [text, words] of rings) assert.throws(() => new AesGcm(parseKeyRing(text)), (error) => error instanceof InvalidRequest && words.test(error.message), text);
});
