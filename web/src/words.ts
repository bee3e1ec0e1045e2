/** Numbers and times in words. */

/** How many of something: `1 node`, `2 nodes`, `86 branches`. */
export function counted(number: number, word: string): string {
  const plural = /(?:s|ch)$/.test(word) ? "es" : "s";
  return `${number.toLocaleString("en")} ${word}${number === 1 ? "" : plural}`;
}

const UNITS: [seconds: number, word: string][] = [
  [31_557_600, "y"],
  [2_629_800, "mo"],
  [86_400, "d"],
  [3_600, "h"],
  [60, "min"],
];

/** How long ago: `just now`, `6 min`, `2 d`. */
export function ago(time: string, now = Date.now()): string {
  const seconds = (now - Date.parse(time)) / 1_000;
  for (const [size, word] of UNITS) if (seconds >= size) return `${Math.floor(seconds / size)} ${word}`;
  return "just now";
}

/** A price in words: `at most $0.054`, `free`, or that it is not known. */
export function priceInWords(dollars: string | null): { before: string; amount: string } {
  if (dollars === null) return { before: "price not known", amount: "" };
  const amount = Number(dollars);
  if (amount === 0) return { before: "free", amount: "" };
  return { before: "at most", amount: `$${amount < 0.001 ? amount.toPrecision(1) : amount.toFixed(3)}` };
}
