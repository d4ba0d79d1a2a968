import tsdoc from "eslint-plugin-tsdoc";
import tseslint from "typescript-eslint";

export default tseslint.config(
  { ignores: ["dist", "build", "src/gen", "node_modules"] },
  tseslint.configs.strictTypeChecked,
  tseslint.configs.stylisticTypeChecked,
  {
    languageOptions: { parserOptions: { project: ["./tsconfig.json", "./tsconfig.tests.json"], tsconfigRootDir: import.meta.dirname } },
    plugins: { tsdoc },
    rules: {
      "tsdoc/syntax": "error",
      "max-lines": ["error", { max: 450, skipBlankLines: true, skipComments: true }],
      "max-lines-per-function": ["error", { max: 60, skipBlankLines: true, skipComments: true }],
      "max-params": ["error", 5],
      "max-depth": ["error", 4],
      complexity: ["error", 20],
      // Index signatures are read by name on purpose: noPropertyAccessFromIndexSignature asks for the brackets.
      "@typescript-eslint/dot-notation": "off",
      // The rule of this version ends the linter on a file with a function called `call`.
      "@typescript-eslint/unified-signatures": "off",
      // The wire's messages are built from many optional parts.
      "@typescript-eslint/no-invalid-void-type": "off",
    },
  },
  {
    files: ["test/**", "samples/**", "conformance/**"],
    rules: { "max-lines-per-function": "off", "@typescript-eslint/no-floating-promises": ["error", { allowForKnownSafeCalls: [{ from: "package", name: ["test", "describe", "it", "suite"], package: "node:test" }] }] },
  },
  { files: ["**/*.mjs"], extends: [tseslint.configs.disableTypeChecked] },
);
