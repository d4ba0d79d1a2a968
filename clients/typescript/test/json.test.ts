import assert from "node:assert/strict";
import { test } from "node:test";

import { canonical } from "../src/canonical.js";
import { PayloadRejected } from "../src/errors.js";
import { fromJson, toJson } from "../src/json.js";

test("integers beyond 2^53 arrive as bigint and are written as numbers", () => {
  const text = '{"big":9007199254740993,"small":12,"list":[-9223372036854775808,1.5],"text":"9007199254740993"}';
  const value = fromJson(text);
  assert.deepEqual(value, { big: 9007199254740993n, small: 12, list: [-9223372036854775808n, 1.5], text: "9007199254740993" });
  assert.equal(toJson(value), text);
});

test("integers that a number holds exactly stay numbers, however long their list is", () => {
  assert.deepEqual(fromJson("[9007199254740991,1234567890123456,0,-0.5,1e3]"), [9007199254740991, 1234567890123456, 0, -0.5, 1000]);
});

test("long digits inside strings, names and fractions are left alone", () => {
  const text = '{"1234567890123456789":"a\\"1234567890123456789","f":0.12345678901234567890,"e":1234567890123456789e2}';
  assert.deepEqual(fromJson(text), JSON.parse(text));
});

test("what is no JSON is refused, with long numbers too", () => {
  for (const text of ["", "nul", "[1234567890123456789", "01234567890123456789", '"1234567890123456789', "[1234567890123456789,]", "--1234567890123456789"]) {
    assert.throws(() => fromJson(text), SyntaxError, text);
  }
});

test("what JSON cannot hold is refused with its place", () => {
  const refused: readonly [unknown, RegExp][] = [
    [{ a: { b: Number.NaN } }, /NaN cannot travel as JSON: at `b`/],
    [[1 / 0], /Infinity/],
    [new Map([[1, 2]]), /a Map would travel as \{\}/],
    [{ bytes: new Uint8Array(1) }, /bytes travel only as a whole value.*`bytes`/],
    [{ f: () => 1 }, /a function cannot travel/],
    [undefined, /undefined is no value/],
  ];
  for (const [value, words] of refused) assert.throws(() => toJson(value), (error) => error instanceof PayloadRejected && words.test(error.message));
  const circle: Record<string, unknown> = {};
  circle["self"] = circle;
  assert.throws(() => toJson(circle), PayloadRejected);
});

test("dates become text, absent members are left out, null stays", () => {
  assert.equal(toJson({ at: new Date(0), gone: undefined, nothing: null }), '{"at":"1970-01-01T00:00:00.000Z","nothing":null}');
});

test("canonical text sorts by code points and keeps numbers as they were written", () => {
  assert.equal(canonical(' { "b" : [ 1.0 , 1e2 ] , "\\u0061" : "\\u00e9\\n", "\ud83d\ude00": 1, "\uffee": 2 } '), '{"a":"é\\n","b":[1.0,1e2],"\uffee":2,"😀":1}');
  for (const text of ['{"a":1,"a":2}', '"\\ud800"', "NaN", '{"a":1,"\\u0061":2}']) assert.throws(() => canonical(text), PayloadRejected, text);
});
