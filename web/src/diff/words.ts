/** Words of a text, as `Intl.Segmenter` divides it: also in scripts that have no spaces. */

const segmenter = new Intl.Segmenter(undefined, { granularity: "word" });

/** The pieces of a text in order; joined they are the text. White space is one piece. */
export function splitWords(text: string): string[] {
  const words: string[] = [];
  let blank = false;
  for (const { segment } of segmenter.segment(text)) {
    const isBlank = segment.trim() === "";
    if (isBlank && blank) words[words.length - 1] = `${words.at(-1) ?? ""}${segment}`;
    else words.push(segment);
    blank = isBlank;
  }
  return words;
}

export function countWords(text: string): number {
  let count = 0;
  for (const { isWordLike } of segmenter.segment(text)) if (isWordLike) count++;
  return count;
}
