// Writes src/api/schema.d.ts from an OpenAPI document on standard input; with --check it only compares.
import { readFileSync, writeFileSync } from "node:fs";
import { text } from "node:stream/consumers";
import openapiTS, { astToString } from "openapi-typescript";

const target = new URL("../src/api/schema.d.ts", import.meta.url);
const notice = "// Generated from the server's OpenAPI document by `make web-types`.\n\n";

const openApi = JSON.parse(await text(process.stdin));
for (const methods of Object.values(openApi.paths)) {
  for (const operation of Object.values(methods)) {
    // Every error has one form; repeating it for each route and status would be most of the file.
    for (const status of Object.keys(operation.responses)) {
      if (!status.startsWith("2")) delete operation.responses[status];
    }
  }
}

const types = notice + astToString(await openapiTS(openApi, { alphabetize: true, defaultNonNullable: false }));
if (!process.argv.includes("--check")) {
  writeFileSync(target, types);
} else if (readFileSync(target, "utf8") !== types) {
  console.error("web/src/api/schema.d.ts differs from the server's OpenAPI document: run make web-types");
  process.exit(1);
}
