/**
 * Where the server is and who asks: the one place that reads the environment.
 *
 * | variable | means | default |
 * | --- | --- | --- |
 * | PERDURE_ADDRESS | host:port of a server | 127.0.0.1:7463, where `perdure dev` and `perdure serve` listen |
 * | PERDURE_NAMESPACE | namespace of everything that names none | default |
 * | PERDURE_TOKEN | bearer token, sent with every call | none |
 * | PERDURE_TOKEN_FILE | file of the token, read again when it changes | none |
 * | PERDURE_TLS | `true`: TLS, by Node's list of CAs; `false`: none, whatever else is set | by the files below |
 * | PERDURE_TLS_CA_FILE | CA of the server, in PEM | Node's list |
 * | PERDURE_TLS_CERT_FILE, PERDURE_TLS_KEY_FILE | the client's own certificate and key, in PEM | none |
 * | PERDURE_TLS_SERVER_NAME | name that the server's certificate must have | that of the address |
 * | PERDURE_PROFILE | name of a profile with any of these, in lower case without PERDURE_ | none |
 * | PERDURE_PROFILES | TOML file of the profiles | ~/.config/perdure/profiles.toml |
 * | PERDURE_CODEC_KEYS | key file that values are encrypted with (docs/how-to/encrypt-payloads.md) | none: plain |
 */

import { AesGcm } from "./aes-gcm.js";
import type { Codec } from "./codec.js";
import { InvalidRequest } from "./errors.js";
import { present, type Settings, withProfile } from "./profiles.js";
import { TokenFile, type TlsOptions } from "./security.js";

/** Where `perdure dev` listens. */
export const DEFAULT_ADDRESS = "127.0.0.1:7463";
const DEFAULT_PORT = ":7463";
const DEFAULT_NAMESPACE = "default";

/** Where the server is and who asks; what is absent comes from the environment, then from a profile, then from the defaults. */
export interface ConnectionOptions {
  /** host:port, or any gRPC target such as `dns:///perdure:7463`. Absent: PERDURE_ADDRESS, else 127.0.0.1:7463. */
  readonly address?: string | undefined;
  /** Namespace of everything that names none. Absent: PERDURE_NAMESPACE, else `default`. */
  readonly namespace?: string | undefined;
  /** Bearer token. Absent: PERDURE_TOKEN, else that of a token file, else none. */
  readonly token?: string | undefined;
  /** File of the bearer token, read again when it changes. */
  readonly tokenFile?: string | undefined;
  /** TLS; `true`: by Node's list of CAs; `false`: none, whatever the environment says. */
  readonly tls?: TlsOptions | boolean | undefined;
  /** Name of a profile. Absent: PERDURE_PROFILE, else none. */
  readonly profile?: string | undefined;
  /** What values go through. Absent: AES-GCM by the key file in PERDURE_CODEC_KEYS, else they travel plain. */
  readonly codec?: Codec | undefined;
}

/**
 * Where the server is and who asks, decided.
 * @internal
 */
export interface ConnectionConfig {
  readonly address: string;
  readonly namespace: string;
  readonly token: string;
  readonly tokenFile: TokenFile | undefined;
  readonly tls: TlsOptions | undefined;
  readonly codec: Codec | undefined;
}

/**
 * What is given, else what environment and profile say, else the defaults. Empty variables count as unset. Throws InvalidRequest.
 * @internal
 */
export function connectionConfig(options: ConnectionOptions, environment: Settings = process.env): ConnectionConfig {
  const known = withProfile(environment, options.profile);
  let token = present(options.token);
  let tokenFile = token === undefined ? present(options.tokenFile) : undefined;
  if (token === undefined && tokenFile === undefined) {
    token = present(known["PERDURE_TOKEN"]);
    tokenFile = token === undefined ? present(known["PERDURE_TOKEN_FILE"]) : undefined;
  }
  const keys = present(known["PERDURE_CODEC_KEYS"]);
  return {
    address: withPort(checked(present(options.address) ?? present(known["PERDURE_ADDRESS"]) ?? DEFAULT_ADDRESS)),
    namespace: present(options.namespace) ?? present(known["PERDURE_NAMESPACE"]) ?? DEFAULT_NAMESPACE,
    token: token ?? "",
    tokenFile: tokenFile === undefined ? undefined : new TokenFile(tokenFile),
    tls: tlsOf(options.tls, known),
    codec: options.codec ?? (keys === undefined ? undefined : AesGcm.fromFile(keys)),
  };
}

/**
 * The bearer token as it is now; empty: none.
 * @internal
 */
export function bearerOf(config: ConnectionConfig): string {
  return config.token === "" ? (config.tokenFile?.current() ?? "") : config.token;
}

function tlsOf(given: TlsOptions | boolean | undefined, known: Settings): TlsOptions | undefined {
  const tls = typeof given === "object" ? given : namedTls(given, known);
  if (tls !== undefined && (present(tls.certFile) === undefined) !== (present(tls.keyFile) === undefined)) {
    throw new InvalidRequest("a client certificate and its key go together: PERDURE_TLS_CERT_FILE and PERDURE_TLS_KEY_FILE");
  }
  return tls;
}

/** Any file among the settings asks for TLS. */
function namedTls(given: boolean | undefined, known: Settings): TlsOptions | undefined {
  const asked = (present(known["PERDURE_TLS"]) ?? "").toLowerCase();
  if (!["", "true", "1", "yes", "false", "0", "no"].includes(asked)) throw new InvalidRequest("PERDURE_TLS must be true or false");
  const named = Object.entries({
    caFile: known["PERDURE_TLS_CA_FILE"],
    certFile: known["PERDURE_TLS_CERT_FILE"],
    keyFile: known["PERDURE_TLS_KEY_FILE"],
    serverName: known["PERDURE_TLS_SERVER_NAME"],
  }).filter(([, value]) => present(value) !== undefined);
  const wanted = given ?? (asked === "" ? named.length > 0 : ["true", "1", "yes"].includes(asked));
  return wanted ? (Object.fromEntries(named)) : undefined;
}

/** Throws InvalidRequest for a URL, which gRPC would take for the name of a host. */
function checked(address: string): string {
  const url = /^https?:\/\/(.*)$/.exec(address);
  if (url === null) return address;
  throw new InvalidRequest(`the address ${address} is a URL: write host:port, such as ${url[1] ?? ""}; TLS is asked for by PERDURE_TLS=true`);
}

/** A bare host gets the port of `perdure dev`; gRPC itself would try 443. */
function withPort(address: string): string {
  const behindBracket = address.slice(address.lastIndexOf("]") + 1);
  return behindBracket.includes(":") || address.includes("/") ? address : address + DEFAULT_PORT;
}
