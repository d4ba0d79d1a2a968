// Writes the stubs of src/gen from the protos of the repository: `node scripts/generate.mjs [OUT]`. PERDURE_PYTHON: a Python with
// grpcio-tools, which carries protoc; by default that of the repository's own environment.
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";

const root = resolve(import.meta.dirname, "../../..");
const out = resolve(process.argv[2] ?? join(import.meta.dirname, "../src/gen"));
const python = process.env.PERDURE_PYTHON ?? join(root, ".venv/bin/python");
const plugin = join(import.meta.dirname, "../node_modules/.bin/protoc-gen-es");

const protos = ["google/rpc/status.proto", "google/rpc/error_details.proto", ...below("perdure/v1"), ...below("perdure/testing/v1")];
rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
const wellKnown = execFileSync(python, ["-c", "import grpc_tools, os; print(os.path.join(os.path.dirname(grpc_tools.__file__), '_proto'))"]);
execFileSync(
  python,
  [
    "-m",
    "grpc_tools.protoc",
    `--plugin=protoc-gen-es=${plugin}`,
    `--es_out=${out}`,
    "--es_opt=target=ts,import_extension=js",
    `--proto_path=${join(root, "proto")}`,
    `--proto_path=${wellKnown.toString().trim()}`,
    ...protos,
  ],
  { stdio: "inherit" },
);

function below(directory) {
  const names = readdirSync(join(root, "proto", directory)).filter((name) => name.endsWith(".proto"));
  return names.sort().map((name) => `${directory}/${name}`);
}
