import { readFileSync, statSync } from "node:fs";

import { ChannelCredentials, credentials } from "@grpc/grpc-js";

import { InvalidRequest } from "./errors.js";

/** TLS to the server. Empty: a server whose certificate a CA of Node's own list has signed. */
export interface TlsOptions {
  /** File of the server's CA, in PEM. Absent: Node's own list. */
  readonly caFile?: string | undefined;
  /** File of the client's own certificate in PEM, with the chain behind it, for servers that ask for one. */
  readonly certFile?: string | undefined;
  /** File of its private key in PEM, without a password. */
  readonly keyFile?: string | undefined;
  /** Name that the server's certificate must have, if not that of the address. */
  readonly serverName?: string | undefined;
}

// What Node says in a handshake, and what it means; the first that is found counts. gRPC has no code for any of it.
const DEFINITE: readonly (readonly [RegExp, string])[] = [
  [/certificate has expired/i, "the server's certificate has expired"],
  [
    /unable to verify the first certificate|self[- ]signed certificate|unable to get (local )?issuer certificate/i,
    "the server's certificate is of no CA that is trusted: give its CA by PERDURE_TLS_CA_FILE",
  ],
  [
    /does not match certificate's altnames|ERR_TLS_CERT_ALTNAME_INVALID/i,
    "the server's certificate has other names: use one as address, or set PERDURE_TLS_SERVER_NAME",
  ],
  [
    /wrong version number|packet length too long/i,
    "the server speaks plain text, and TLS was asked for: unset PERDURE_TLS and its files, or ask another port",
  ],
];
const CUT = /ECONNRESET|EPIPE|socket hang up|disconnected before secure TLS|Connection dropped|Protocol error|read ECONN/i;
const CUT_PLAIN = "the server cut the connection: it may want TLS, by PERDURE_TLS=true or PERDURE_TLS_CA_FILE";
const CUT_TLS = "the server cut the handshake: it may want a client certificate, by PERDURE_TLS_CERT_FILE and PERDURE_TLS_KEY_FILE";

/**
 * What gRPC takes, from the files as they are now. Throws InvalidRequest if one cannot be read.
 * @internal
 */
export function channelCredentials(tls: TlsOptions | undefined): ChannelCredentials {
  if (tls === undefined) return credentials.createInsecure();
  const ca = tls.caFile === undefined ? null : readSecret(tls.caFile);
  if (tls.certFile === undefined || tls.keyFile === undefined) return credentials.createSsl(ca);
  return credentials.createSsl(ca, readSecret(tls.keyFile), readSecret(tls.certFile));
}

/**
 * Changes when the client's certificate is replaced; empty without one.
 * @internal
 */
export function certificateStamp(tls: TlsOptions | undefined): string {
  return tls?.certFile === undefined || tls.keyFile === undefined ? "" : `${stampOf(tls.certFile)}/${stampOf(tls.keyFile)}`;
}

/**
 * A bearer token in a file, read again when the file changes, so that short-lived tokens can be replaced under a running worker.
 * @internal
 */
export class TokenFile {
  readonly #path: string;
  #stamp: string;
  #token: string;

  /** Throws InvalidRequest if it cannot be read or is empty. */
  constructor(path: string) {
    this.#path = path;
    this.#stamp = stampOf(path);
    this.#token = readToken(path);
  }

  /** The token; while the file cannot be read, the last one. */
  current(): string {
    const stamp = stampOf(this.#path);
    if (stamp !== "" && stamp !== this.#stamp) {
      try {
        this.#token = readToken(this.#path);
        this.#stamp = stamp;
      } catch (error) {
        if (!(error instanceof InvalidRequest)) throw error; // in the middle of being written: the next call looks again
      }
    }
    return this.#token;
  }
}

/**
 * What went wrong before any call, in plain words; empty: nothing that is known.
 *
 * `tls`: whether it was asked for, where no server has answered yet; undefined: one has, and a cut says nothing of TLS.
 * @internal
 */
export function handshakeFault(details: string, tls: boolean | undefined): string {
  const known = DEFINITE.find(([sign]) => sign.test(details));
  if (known !== undefined) return known[1];
  if (tls !== undefined && CUT.test(details)) return tls ? CUT_TLS : CUT_PLAIN;
  return "";
}

/**
 * Whether no later try can help.
 * @internal
 */
export function isDefinite(details: string): boolean {
  return DEFINITE.some(([sign]) => sign.test(details));
}

function readToken(path: string): string {
  const token = readSecret(path).toString("utf8").trim();
  if (!/^[\x20-\x7e]+$/.test(token)) throw new InvalidRequest(`the token file ${path} holds no token: one line of printable ASCII`);
  return token;
}

function readSecret(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    throw new InvalidRequest(`${path} cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function stampOf(path: string): string {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found === undefined ? "" : [found.mtimeNs, found.size, found.ino].join(":");
}
