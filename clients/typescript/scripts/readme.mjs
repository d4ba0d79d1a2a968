// Cuts README.md's programs from the samples that tests run. `--check` writes nothing and fails if the README is stale.
// A program stands between `<!-- begin PATH -->` and `<!-- end PATH -->`, PATH from the package's directory.
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

const home = resolve(import.meta.dirname, "..");
const readme = join(home, "README.md");
const text = readFileSync(readme, "utf8");
const made = text.replace(/<!-- begin (\S+) -->\n[^]*?<!-- end \1 -->/g, (_all, path) => {
  const program = readFileSync(join(home, path), "utf8").trim();
  return `<!-- begin ${path} -->\n\`\`\`ts\n${program}\n\`\`\`\n<!-- end ${path} -->`;
});
if (!process.argv.includes("--check")) writeFileSync(readme, made);
else if (made !== text) {
  console.error("README.md is stale: run `npm run readme`");
  process.exitCode = 1;
}
