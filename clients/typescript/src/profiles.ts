import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

import { parse } from "smol-toml";

import { InvalidRequest } from "./errors.js";

const KEYS = new Set([
  "address",
  "namespace",
  "token",
  "token_file",
  "codec_keys",
  "tls",
  "tls_ca_file",
  "tls_cert_file",
  "tls_key_file",
  "tls_server_name",
]);

/**
 * Settings by the names of their variables.
 * @internal
 */
export type Settings = Readonly<Record<string, string | undefined>>;

/**
 * The variables, and what the profile (else PERDURE_PROFILE; empty: none) says where they are not set. Profiles are tables of a TOML
 * file, whose keys are the variables without PERDURE_, in lower case. Throws InvalidRequest.
 * @internal
 */
export function withProfile(known: Settings, name: string | undefined): Settings {
  const wanted = present(name) ?? present(known["PERDURE_PROFILE"]);
  if (wanted === undefined) return known;
  const path = present(known["PERDURE_PROFILES"]) ?? join(present(known["XDG_CONFIG_HOME"]) ?? join(homedir(), ".config"), "perdure", "profiles.toml");
  const profiles = readProfiles(path, wanted);
  const found = profiles[wanted];
  if (typeof found !== "object" || found === null || Array.isArray(found)) {
    const names = Object.keys(profiles).sort().join(", ");
    throw new InvalidRequest(`${path} has no profile ${wanted}; it has ${names === "" ? "none" : names}`);
  }
  const unknown = Object.keys(found).filter((key) => !KEYS.has(key));
  if (unknown.length > 0) {
    throw new InvalidRequest(`${path}: profile ${wanted}: ${unknown.sort().join(", ")}: no such setting; there are ${[...KEYS].sort().join(", ")}`);
  }
  const told = Object.fromEntries(Object.entries(found).map(([key, value]) => [`PERDURE_${key.toUpperCase()}`, String(value)]));
  const set = Object.fromEntries(Object.entries(known).filter(([, value]) => present(value) !== undefined));
  return { ...told, ...set };
}

/**
 * The text, or undefined for an empty or absent one.
 * @internal
 */
export function present(text: string | undefined): string | undefined {
  return text === undefined || text === "" ? undefined : text;
}

function readProfiles(path: string, wanted: string): Readonly<Record<string, unknown>> {
  try {
    return parse(readFileSync(path, "utf8"));
  } catch (error) {
    throw new InvalidRequest(`the profile ${wanted} cannot be read from ${path}: ${error instanceof Error ? error.message : String(error)}`);
  }
}
