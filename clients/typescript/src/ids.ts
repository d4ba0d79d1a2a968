import { randomUUID } from "node:crypto";

/**
 * The caller's id, or a new one: the client's own retries must be recognised.
 * @internal
 */
export function knownId(id: string | undefined): string {
  return id === undefined || id === "" ? randomUUID() : id;
}
