// Builds the package twice: ESM and CommonJS, each with its own types.
import { execFileSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";

const tsc = createRequire(import.meta.url).resolve("typescript/bin/tsc");
const run = (...options) => execFileSync(process.execPath, [tsc, "-p", "tsconfig.json", ...options], { stdio: "inherit" });

rmSync("dist", { recursive: true, force: true });
run();
run("--module", "commonjs", "--moduleResolution", "node10", "--verbatimModuleSyntax", "false", "--outDir", "dist/cjs");
writeFileSync("dist/cjs/package.json", '{"type":"commonjs"}\n');
