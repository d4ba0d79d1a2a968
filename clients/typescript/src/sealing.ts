/**
 * Puts every value of a message through the codec: into the message before it leaves, out of it where it arrives.
 *
 * It walks messages by their descriptors, so a Payload in a new place is reached without a line here. What cannot be decoded
 * stays encoded, and is an error for who asks for that value, not for the whole answer.
 */

import { create, type DescField, type DescMessage, fromBinary, fromJsonString, type Message, toBinary, toJsonString } from "@bufbuild/protobuf";

import { canonical } from "./canonical.js";
import { type Codec, FAILURE_PREFIX, Kind, UNDECODED } from "./codec.js";
import { DefinitionRejected, PayloadUndecodable, type Violation } from "./errors.js";
import type { Definition } from "./gen/perdure/v1/definition_pb.js";
import { type Failure, FailureSchema, type Payload, PayloadSchema } from "./gen/perdure/v1/payload_pb.js";
import { WaitResultSchema } from "./gen/perdure/v1/wait_pb.js";

/**
 * Content type of the output of a wait step.
 * @internal
 */
export const WAIT_RESULT_TYPE = "application/vnd.perdure.wait-result+json";

interface Found {
  payload?: Payload;
  failure?: Failure;
  field: string;
}

/**
 * Encodes every value and failure of a message that is not encoded yet, in place. Inputs get a digest.
 * @internal
 */
export function seal(desc: DescMessage, message: Message, codec: Codec | undefined): void {
  if (codec === undefined) return;
  for (const { payload, failure, field } of valuesOf(desc, message, "")) {
    if (failure !== undefined) sealFailure(failure, codec);
    if (payload !== undefined) sealPayload(payload, codec, field === "input");
  }
}

/**
 * Decodes every value and failure of a message that this codec encoded, in place; what cannot be decoded is left.
 * @internal
 */
export function unseal(desc: DescMessage, message: Message, codec: Codec | undefined): void {
  if (codec === undefined) return;
  for (const { payload, failure } of valuesOf(desc, message, "")) {
    if (failure !== undefined) unsealFailure(failure, codec);
    if (payload !== undefined) unsealPayload(payload, codec);
  }
}

/**
 * Throws DefinitionRejected if the server would have to look into values that the codec makes unreadable.
 * @internal
 */
export function checkDefinition(definition: Definition, codec: Codec | undefined): void {
  if (codec === undefined) return;
  const violations: Violation[] = [];
  definition.steps.forEach(({ name, kind, needs }, index) => {
    if (kind.case === "map" && kind.value.source.case === "itemsFrom") {
      const source = kind.value.source.value;
      const description = `${name} takes its items out of ${source}, which is encrypted: use a paging step`;
      violations.push({ field: `definition.steps[${String(index)}].map.items_from`, description });
    }
    if (kind.case === "child" && kind.value.inputFrom === "" && (needs?.names.length ?? 0) > 0) {
      const description = `${name} makes one input of ${needs?.names.join(", ") ?? ""}, which is encrypted: name one value`;
      violations.push({ field: `definition.steps[${String(index)}].child.input_from`, description });
    }
  });
  if (violations.length > 0) throw new DefinitionRejected("the server cannot look into values of this codec", { violations });
}

/** All payloads and failures in a message, outermost only, each with the name of the field that holds it. */
function* valuesOf(desc: DescMessage, message: Message, field: string): Generator<Found> {
  if (desc.typeName === PayloadSchema.typeName) {
    yield { payload: message as Payload, field };
  } else if (desc.typeName === FailureSchema.typeName) {
    yield { failure: message as Failure, field };
  } else {
    for (const [inner, held] of carriersOf(desc)) {
      for (const part of partsOf(inner, message)) yield* valuesOf(held, part, inner.name);
    }
  }
}

const carriers = new Map<DescMessage, readonly (readonly [DescField, DescMessage])[]>();

/** The fields of a message below which there may be payloads or failures; computed once. */
function carriersOf(desc: DescMessage): readonly (readonly [DescField, DescMessage])[] {
  let found = carriers.get(desc);
  if (found === undefined) {
    found = desc.fields.flatMap((field) => {
      const held = field.message;
      return held !== undefined && mayCarry(held, new Set()) ? [[field, held] as const] : [];
    });
    carriers.set(desc, found);
  }
  return found;
}

function mayCarry(desc: DescMessage, seen: Set<string>): boolean {
  if (desc.typeName === PayloadSchema.typeName || desc.typeName === FailureSchema.typeName) return true;
  if (seen.has(desc.typeName) || desc.typeName.startsWith("google.")) return false;
  seen.add(desc.typeName);
  return desc.fields.some((field) => field.message !== undefined && mayCarry(field.message, seen));
}

function partsOf(field: DescField, message: Message): readonly Message[] {
  const holder = message as unknown as Readonly<Record<string, unknown>>;
  if (field.oneof !== undefined) {
    const chosen = holder[field.oneof.localName] as { case?: string; value?: unknown };
    return chosen.case === field.localName ? [chosen.value as Message] : [];
  }
  const value = holder[field.localName];
  if (value === undefined) return [];
  if (field.fieldKind === "list") return value as Message[];
  if (field.fieldKind === "map") return Object.values(value as Record<string, Message>);
  return [value as Message];
}

function sealPayload(payload: Payload, codec: Codec, withDigest: boolean): void {
  if (UNDECODED in payload.metadata) {
    payload.metadata = Object.fromEntries(Object.entries(payload.metadata).filter(([name]) => name !== UNDECODED));
  }
  const { data } = payload;
  if (payload.encoding !== "" || (data.case !== "json" && data.case !== "binary")) return;
  const plain = data.case === "json" ? tagged(Kind.JSON, Buffer.from(data.value)) : tagged(Kind.BINARY, data.value);
  if (withDigest && payload.digest === "") payload.digest = codec.digest(digested(payload));
  payload.data = { case: "binary", value: codec.encode(plain, payload.contentType) };
  payload.encoding = codec.name;
}

/**
 * What a keyed digest of a plain value is made of: canonical JSON, or the content type with its length and the bytes.
 * @internal
 */
export function digested(payload: Payload): Uint8Array {
  if (payload.data.case === "json") return tagged(Kind.JSON, Buffer.from(canonical(payload.data.value)));
  const contentType = Buffer.from(payload.contentType);
  const size = Buffer.alloc(4);
  size.writeUInt32BE(contentType.length);
  return tagged(Kind.BINARY, Buffer.concat([size, contentType, payload.data.case === "binary" ? payload.data.value : new Uint8Array()]));
}

function unsealPayload(payload: Payload, codec: Codec): void {
  if (payload.contentType === WAIT_RESULT_TYPE && payload.encoding === "") {
    unsealWaitResult(payload, codec);
    return;
  }
  const plain = decoded(payload, codec);
  if (plain === undefined) return;
  try {
    payload.data = dataOf(plain);
    payload.encoding = payload.digest = ""; // whoever changes the value and sends it on must not send an old digest
  } catch (error) {
    note(payload, error);
  }
}

function dataOf(plain: Uint8Array): Payload["data"] {
  const rest = plain.subarray(1);
  if (plain[0] === Kind.BINARY) return { case: "binary", value: rest };
  if (plain[0] !== Kind.JSON) throw new PayloadUndecodable("what it decodes to is neither JSON nor binary", "malformed");
  try {
    return { case: "json", value: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(rest) };
  } catch {
    throw new PayloadUndecodable("what it decodes to is no UTF-8", "malformed");
  }
}

function decoded(payload: Payload, codec: Codec): Uint8Array | undefined {
  if (payload.encoding !== codec.name || payload.data.case !== "binary") return undefined;
  try {
    return codec.decode(payload.data.value, payload.contentType);
  } catch (error) {
    note(payload, error);
    return undefined;
  }
}

function note(payload: Payload, error: unknown): void {
  if (!(error instanceof PayloadUndecodable)) throw error;
  payload.metadata[UNDECODED] = Buffer.from(`${error.fault}:${error.text}`);
}

/** The server made this JSON; the signals' payloads inside are as their senders sealed them. */
function unsealWaitResult(payload: Payload, codec: Codec): void {
  if (payload.data.case !== "json" || !payload.data.value.includes('"encoding"')) return;
  let result;
  try {
    result = fromJsonString(WaitResultSchema, payload.data.value, { ignoreUnknownFields: true });
  } catch {
    return; // the one who asks for it is told
  }
  unseal(WaitResultSchema, result, codec);
  payload.data = { case: "json", value: toJsonString(WaitResultSchema, result) };
}

function sealFailure(failure: Failure, codec: Codec): void {
  if (failure.details?.encoding === codec.name) return;
  if (failure.type.startsWith(FAILURE_PREFIX)) {
    if (failure.details !== undefined) sealPayload(failure.details, codec, false);
    return;
  }
  const inner = create(FailureSchema, { message: failure.message, ...(failure.details === undefined ? {} : { details: failure.details }) });
  const value = codec.encode(tagged(Kind.FAILURE, toBinary(FailureSchema, inner)), "");
  failure.message = "";
  failure.details = create(PayloadSchema, { data: { case: "binary", value }, encoding: codec.name });
}

function unsealFailure(failure: Failure, codec: Codec): void {
  if (failure.details === undefined) return;
  const plain = decoded(failure.details, codec);
  if (plain === undefined) return;
  if (plain[0] !== Kind.FAILURE) {
    unsealPayload(failure.details, codec);
    return;
  }
  let inner: Failure;
  try {
    inner = fromBinary(FailureSchema, plain.subarray(1));
  } catch {
    return;
  }
  failure.message = inner.message;
  if (inner.details === undefined) delete failure.details;
  else failure.details = inner.details;
}

function tagged(kind: number, value: Uint8Array): Uint8Array {
  return Buffer.concat([Buffer.from([kind]), value]);
}
