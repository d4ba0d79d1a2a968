import { createCipheriv, createDecipheriv, createHmac, randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";

import { AES_GCM, type Codec } from "./codec.js";
import { InvalidRequest, PayloadUndecodable } from "./errors.js";

const KEY_SIZE = 32;
const CHECK_SIZE = 4;
const NONCE_SIZE = 12;
const TAG_SIZE = 16;
const KEY_ID = /^[A-Za-z0-9._-]{1,64}$/;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const VERSION = 1;
const CONTEXT = Buffer.from("perdure/aes-gcm");

/** The keys of one team: which encrypts, which still decrypt, and which makes digests. Made by `perdure keys new FILE`. */
export interface KeyRing {
  /** Id of the key that encrypts. */
  readonly active: string;
  /** By id, 32 bytes each. Ids have 1 to 64 letters, digits, `.`, `_` and `-`; they travel readable. */
  readonly keys: Readonly<Record<string, Uint8Array>>;
  /** 32 bytes. Keep it when keys change: with another one a repeated start is no longer known as the same. */
  readonly digestKey: Uint8Array;
}

/**
 * AES-256-GCM for payloads. An encoded value is the byte 1, the length of the key's id, the id, a check of the key (4 bytes), the
 * nonce (12) and the cipher text with its tag (16); all before the nonce, and the content type, are bound to it. Nonces are random: give a new key to a ring before one key has encrypted 2^32 values.
 */
export class AesGcm implements Codec {
  readonly name = AES_GCM;
  readonly #ring: KeyRing;
  readonly #headers: ReadonlyMap<string, Buffer>;

  /** @param ring - The keys. Throws InvalidRequest that names what is wrong with them. */
  constructor(ring: KeyRing) {
    checkRing(ring);
    this.#ring = ring;
    this.#headers = new Map(Object.entries(ring.keys).map(([id, key]) => [id, headerOf(id, key)]));
  }

  /**
   * The codec of a key file, as `perdure keys` writes them.
   *
   * @param path - The file. Throws InvalidRequest that names what is wrong in it.
   */
  static fromFile(path: string): AesGcm {
    try {
      return new AesGcm(parseKeyRing(readFileSync(path, "utf8")));
    } catch (error) {
      throw new InvalidRequest(`the key file ${path} cannot be used: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  encode(plain: Uint8Array, contentType: string): Uint8Array {
    return this.encodeWith(randomBytes(NONCE_SIZE), plain, contentType);
  }

  /**
   * As `encode` with a nonce that is given: for test vectors only, as a nonce that is used twice breaks the key.
   * @internal
   */
  encodeWith(nonce: Uint8Array, plain: Uint8Array, contentType: string): Uint8Array {
    const { active } = this.#ring;
    const header = this.#headers.get(active) ?? Buffer.alloc(0);
    const cipher = createCipheriv("aes-256-gcm", this.#key(active), nonce);
    cipher.setAAD(associated(header, contentType));
    return Buffer.concat([header, nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
  }

  decode(encoded: Uint8Array, contentType: string): Uint8Array {
    const { header, keyId } = parse(encoded);
    const known = this.#headers.get(keyId);
    if (known === undefined) {
      throw new PayloadUndecodable(`key ${keyId} is not in the key ring, which has ${[...this.#headers.keys()].join(", ")}`, "key_missing");
    }
    if (!known.equals(header)) {
      throw new PayloadUndecodable(`key ${keyId} in the key ring is another key than the one that encrypted this`, "key_wrong");
    }
    const body = header.length + NONCE_SIZE;
    const decipher = createDecipheriv("aes-256-gcm", this.#key(keyId), encoded.subarray(header.length, body), { authTagLength: TAG_SIZE });
    decipher.setAAD(associated(header, contentType));
    decipher.setAuthTag(encoded.subarray(encoded.length - TAG_SIZE));
    try {
      return Buffer.concat([decipher.update(encoded.subarray(body, encoded.length - TAG_SIZE)), decipher.final()]);
    } catch {
      throw new PayloadUndecodable("the value or its content type was changed after it was encrypted", "tampered");
    }
  }

  digest(plain: Uint8Array): string {
    return `hs256:${createHmac("sha256", this.#ring.digestKey).update(plain).digest("hex")}`;
  }

  #key(id: string): Uint8Array {
    const key = this.#ring.keys[id];
    if (key === undefined) throw new PayloadUndecodable(`key ${id} is not in the key ring`, "key_missing");
    return key;
  }
}

/**
 * The key ring in the text of a key file: `{"active": "k2", "keys": {"k1": "<base64>"}, "digest_key": "<base64>"}`.
 *
 * @param text - JSON. Throws InvalidRequest that names what is wrong.
 */
export function parseKeyRing(text: string): KeyRing {
  let found: unknown;
  try {
    found = JSON.parse(text);
  } catch {
    throw new InvalidRequest("a key file is JSON, and this is not");
  }
  if (!isRecord(found) || typeof found["active"] !== "string" || !isRecord(found["keys"])) {
    throw new InvalidRequest("a key file has `active`, `keys` and `digest_key`");
  }
  const keys = Object.entries(found["keys"]).map(([id, key]) => [id, fromBase64(`keys.${id}`, key)] as const);
  return { active: found["active"], keys: Object.fromEntries(keys), digestKey: fromBase64("digest_key", found["digest_key"]) };
}

function checkRing(ring: KeyRing): void {
  for (const [id, key] of Object.entries(ring.keys)) {
    if (!KEY_ID.test(id)) throw new InvalidRequest(`a key's id has 1 to 64 letters, digits, \`.\`, \`_\` and \`-\`; "${id}" has not`);
    if (key.length !== KEY_SIZE) throw new InvalidRequest(`key ${id} has ${String(key.length)} bytes; AES-256 needs ${String(KEY_SIZE)}`);
  }
  if (!Object.hasOwn(ring.keys, ring.active)) {
    const known = Object.keys(ring.keys).join(", ");
    throw new InvalidRequest(`the active key "${ring.active}" is not among the keys: ${known === "" ? "there are none" : known}`);
  }
  if (ring.digestKey.length !== KEY_SIZE) {
    throw new InvalidRequest(`digest_key has ${String(ring.digestKey.length)} bytes; it needs ${String(KEY_SIZE)}`);
  }
}

function headerOf(id: string, key: Uint8Array): Buffer {
  const check = createHmac("sha256", key).update("perdure key check").digest().subarray(0, CHECK_SIZE);
  return Buffer.concat([Buffer.from([VERSION, id.length]), Buffer.from(id, "ascii"), check]);
}

function associated(header: Uint8Array, contentType: string): Buffer {
  return Buffer.concat([CONTEXT, header, Buffer.from(contentType)]);
}

function parse(encoded: Uint8Array): { header: Buffer; keyId: string } {
  const [version, size] = encoded;
  if (version !== VERSION || size === undefined) {
    const told = version === undefined ? "no bytes" : `version ${String(version)}`;
    throw new PayloadUndecodable(`${told} of the encrypted form is not known here`, "malformed");
  }
  const end = 2 + size + CHECK_SIZE;
  if (encoded.length < end + NONCE_SIZE + TAG_SIZE) {
    throw new PayloadUndecodable(`${String(encoded.length)} bytes are too few for an encrypted value`, "malformed");
  }
  return { header: Buffer.from(encoded.subarray(0, end)), keyId: Buffer.from(encoded.subarray(2, 2 + size)).toString("latin1") };
}

function fromBase64(name: string, value: unknown): Uint8Array {
  if (typeof value !== "string" || !BASE64.test(value)) throw new InvalidRequest(`${name} is not base64`);
  return Buffer.from(value, "base64");
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
