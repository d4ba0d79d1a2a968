import { resolve } from "node:path";
import { fileURLToPath } from "node:url";

/** The package; tests run from build/test. */
export const PACKAGE = resolve(fileURLToPath(new URL(".", import.meta.url)), "../..");

/** A file of the repository. */
export function repositoryFile(path: string): string {
  return resolve(PACKAGE, "../..", path);
}

/** The executable that serves tests. */
export const EXECUTABLE = process.env["PERDURE_TEST_SERVER"] ?? repositoryFile(".venv/bin/perdure");
