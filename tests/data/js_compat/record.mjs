// Records what JavaScript says of odd values: `node record.mjs > recorded.jsonl`. Tests read only the record.
let state = 20260101;
const random = () => ((state = (state * 1103515245 + 12345) % 2147483648) / 2147483648);
const below = (n) => Math.floor(random() * n);
const pick = (list) => list[below(list.length)];
const ascii = (value) =>
  JSON.stringify(value).replace(/[\u007f-\uffff]/g, (unit) => "\\u" + unit.charCodeAt(0).toString(16).padStart(4, "0"));
const put = (row) => console.log(ascii(row));

const numbers = ["0", "-0", "1", "-1", "1.0", "100", "1e2", "1e20", "1e21", "-1e21", "123456789012345678901", "1.5e300",
  "1e-6", "1e-7", "0.000001", "0.0000001", "0.1", "1e400", "-1e400", "5e-324", "1.7976931348623157e308",
  "9007199254740991", "9007199254740992", "9007199254740993", "-9007199254740993", "12345678901234567890",
  "99999999999999999999", "999999999999999999999", "1000000000000000000000", "0.30000000000000004", "2.5E-5", "1E5",
  "9".repeat(500), "9".repeat(309), "1".repeat(309), "-" + "2".repeat(309), "123e18", "1.25e-9", "4.35", "0.000001234", "123456.789e3", "1e23", "8.41e21", "2e-3"];
for (let i = 0; i < 300; i++) {
  const digits = String(1 + below(9)) + Array.from({ length: below(18) }, () => below(10)).join("");
  const point = below(digits.length + 1);
  const whole = digits.slice(0, point) || "0";
  const text = (below(3) ? "" : "-") + whole + (point < digits.length ? "." + digits.slice(point) : "");
  numbers.push(below(2) ? text : text + "e" + (below(60) - 30));
}
for (const text of numbers) put({ kind: "json", text, json: JSON.stringify(JSON.parse(text)) });

const bits = ["a", "\"", "\\", "/", "\n", "\r", "\t", "\b", "\f", "\v", "\u0000", "\u0001", "\u001f", "\u007f", "\u0080",
  "\u00a0", "\u00e9", "e\u0301", "\u2028", "\u2029", "\ufeff", "\u65e5", "\ud83d\ude00", "\ud83d", "\ude00", "\udfff",
  "\ud800", "\ud841\udf0e", "<b>", "word ", "\u0130", "\u03a3", "\uffff"];
const word = () => Array.from({ length: below(7) }, () => pick(bits)).join("");
const names = ["b", "a", "10", "9", "0", "01", "-1", "4294967294", "4294967295", "1.5", "", "__proto__", "\ud83d\ude00", "\ude00", "\u00e9"];
const written = (depth) => {
  const kind = below(depth > 3 ? 4 : 6);
  if (kind === 0) return ascii(word());
  if (kind === 1) return pick(numbers.filter((text) => text.length < 40));
  if (kind === 2) return pick(["true", "false", "null"]);
  if (kind === 3) return JSON.stringify(word());
  const inner = Array.from({ length: below(5) }, () => written(depth + 1));
  if (kind === 4) return "[" + inner.join(pick([",", " , ", ",\n"])) + "]";
  return "{" + inner.map((text) => ascii(pick(names)) + pick([":", " : "]) + text).join(",") + "}";
};
for (let i = 0; i < 400; i++) {
  const text = written(0);
  const json = JSON.stringify(JSON.parse(text));
  put({ kind: "json", text, json, units: json.length });
}
for (const text of ["NaN", "Infinity", "-Infinity", "[1,]", "{\"a\":1,}", "'a'", "01", "1.", ".5", "+1", "\ufeff{}", "\u00a01", "",
  " ", "\"\t\"", "\"\\x41\"", "\"\\u12\"", "nul", "{a:1}", "[1 2]", "undefined", "\"a\" \"b\"", "\v1", "1e", "--1", "\"\n\""]) {
  let valid = true;
  try { JSON.parse(text); } catch { valid = false; }
  put({ kind: "valid", text, valid });
}
for (let i = 0; i < 300; i++) {
  const text = word() + word();
  const end = pick([below(12), below(12) + 0.7, -below(6), -below(6) - 0.5, 0, 50000, below(4)]);
  put({ kind: "slice", text, end, found: text.slice(0, end), units: text.length });
}
for (let i = 0; i < 200; i++) {
  const blank = () => Array.from({ length: below(4) }, () => pick([" ", "\t", "\n", "\v", "\f", "\r", "\u00a0", "\ufeff", "\u2028", "\u3000",
    "\u1680", "\u200b", "\u001c", "\u001f", "\u0085", "\u180e", "\u202f", "\u205f", "\u2007"])).join("");
  const text = blank() + word() + blank();
  put({ kind: "trim", text, found: text.trim() });
}
for (const value of [null, true, false, 0, 1, -1, 0.5, "", " ", "0", "false", "a", [], {}, [0], { a: 1 }]) {
  put({ kind: "truth", value, found: Boolean(value) });
}
for (const value of [null, true, false, 5, 0.5, "", " ", "5", " 5\n", "5.5", ".5", "5.", "1e3", "0x1f", "0b101", "0o17", "-0x1", "abc", "5px",
  "Infinity", "-Infinity", "infinity", "NaN", "1_000", "1,000", "\u00a07\ufeff", "--5", "+5", {},
  [], [7], ["0x10"], [[5]], [null], [1, 2], [true], [" 8 "]]) {
  put({ kind: "number", value, found: Number.isNaN(Number(value)) ? "NaN" : String(Number(value)) });
}
const cased = ["\u039f\u0394\u039f\u03a3", "\u03a3", "a\u03a3.", "\u03a3a", "\u0130", "I\u0307", "STRASSE", "Stra\u00dfe", "\ufb01n", "\u0149",
  "\u01c5", "\u1e9e", "\ud801\udc00", "\u10d0", "\u1c90", "\u13a0", "\uab70", "\u2c2f", "\u03f4", "\u212a", "\u0390"];
for (const text of cased) put({ kind: "case", text, lower: text.toLowerCase(), upper: text.toUpperCase() });
