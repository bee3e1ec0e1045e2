/** A text with the places that were searched for; the server counts characters as code points. */

export interface Highlight {
  text: string;
  marked: boolean;
}

export function highlighted(text: string, places: readonly (readonly number[])[]): Highlight[] {
  const characters = Array.from(text);
  const pieces: Highlight[] = [];
  let at = 0;
  const add = (end: number, marked: boolean): void => {
    if (end > at) pieces.push({ text: characters.slice(at, end).join(""), marked });
    at = Math.max(at, end);
  };
  for (const [start = 0, end = 0] of [...places].sort((one, other) => (one[0] ?? 0) - (other[0] ?? 0))) {
    add(Math.min(start, characters.length), false);
    add(Math.min(end, characters.length), true);
  }
  add(characters.length, false);
  return pieces;
}

/** The places of the marked words in another text, such as the whole node of a snippet. */
export function placesOf(text: string, words: Iterable<string>): [number, number][] {
  const places: [number, number][] = [];
  const length = (part: string): number => Array.from(part).length;
  const lower = text.toLowerCase();
  for (const word of new Set([...words].map((each) => each.toLowerCase()))) {
    if (word === "" || lower.length !== text.length) continue;
    for (let at = lower.indexOf(word); at >= 0; at = lower.indexOf(word, at + word.length)) {
      const start = length(text.slice(0, at));
      places.push([start, start + length(word)]);
    }
  }
  return places;
}
