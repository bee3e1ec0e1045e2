import js from "@eslint/js";
import svelte from "eslint-plugin-svelte";
import ts from "typescript-eslint";
import svelteConfig from "./svelte.config.js";

export default ts.config(
  { ignores: ["node_modules", "src/api/schema.d.ts"] },
  js.configs.recommended,
  ...ts.configs.strictTypeChecked,
  ...svelte.configs.recommended,
  {
    languageOptions: {
      parserOptions: {
        projectService: { allowDefaultProject: ["eslint.config.js", "svelte.config.js", "scripts/*.mjs"] },
        extraFileExtensions: [".svelte"],
        tsconfigRootDir: import.meta.dirname,
      },
    },
    rules: {
      "no-undef": "off", // the type checker knows
      "no-restricted-imports": ["error", { patterns: ["svelte/store"] }],
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      "@typescript-eslint/no-non-null-assertion": "off", // typed arrays and checked indexes
      "@typescript-eslint/no-unnecessary-type-parameters": "off",
      "@typescript-eslint/no-dynamic-delete": "off",
      "@typescript-eslint/no-meaningless-void-operator": "off", // `void state` in an effect depends on it
      "@typescript-eslint/no-unused-vars": ["error", { ignoreRestSiblings: true }],
      "@typescript-eslint/no-misused-spread": "off", // code points are what offsets count
      "@typescript-eslint/no-confusing-void-expression": "off",
      "@typescript-eslint/no-invalid-void-type": "off",
      "svelte/prefer-svelte-reactivity": "off", // not every set is shown
    },
  },
  {
    files: ["**/*.svelte", "**/*.svelte.ts"],
    languageOptions: { parserOptions: { parser: ts.parser, svelteConfig } },
    rules: {
      "svelte/no-at-html-tags": "error",
      // A style attribute would need 'unsafe-inline'; style: directives set properties instead.
      "no-restricted-syntax": ["error", { selector: "SvelteAttribute[key.name='style']", message: "Use classes or style: directives." }],
      "svelte/no-navigation-without-resolve": "off", // that is a rule of SvelteKit
      "@typescript-eslint/no-unsafe-assignment": "off", // svelte-check knows the types of components
      "@typescript-eslint/no-unsafe-member-access": "off",
      "@typescript-eslint/no-unsafe-call": "off",
      "@typescript-eslint/no-unsafe-argument": "off",
      "@typescript-eslint/no-unsafe-return": "off",
    },
  },
  { files: ["*.js", "scripts/*.mjs"], ...ts.configs.disableTypeChecked },
);
