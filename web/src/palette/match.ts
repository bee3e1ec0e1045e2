/** How well words that are typed fit a label: 0 not at all, more is better. */
export function fits(label: string, typed: string): number {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  const text = label.toLowerCase();
  if (words.length === 0) return 1;
  let score = 1;
  for (const word of words) {
    const place = text.indexOf(word);
    if (place < 0) return 0;
    score += place === 0 ? 3 : /\W/.test(text[place - 1] ?? "") ? 2 : 1;
  }
  return score;
}
