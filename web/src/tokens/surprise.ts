/** How expected each token was: probabilities, bits of surprise, perplexity. */

export interface Alternative {
  token: string;
  logprob: number;
}

export interface Token {
  token: string;
  /** Where it begins in the text, in code points. */
  start: number;
  logprob: number;
  alternatives: Alternative[];
}

export function probability(logprob: number): number {
  return Math.min(1, Math.exp(logprob));
}

export function bits(logprob: number): number {
  return Math.max(0, -logprob / Math.LN2);
}

export function meanBits(tokens: readonly Token[]): number {
  return tokens.length ? tokens.reduce((sum, { logprob }) => sum + bits(logprob), 0) / tokens.length : 0;
}

export function perplexity(tokens: readonly Token[]): number {
  return 2 ** meanBits(tokens);
}

/** The tokens that were least expected, the least first. */
export function leastExpected(tokens: readonly Token[], most = 5): Token[] {
  return [...tokens].sort((one, other) => one.logprob - other.logprob).slice(0, most);
}

/** How dark a token is shaded, from 0 to 1. */
export type Shading = "surprise" | "probability" | "choice" | "off";

export function shade({ logprob, alternatives, token }: Token, by: Shading): number {
  if (by === "surprise") return Math.min(1, bits(logprob) / 7);
  if (by === "probability") return 1 - probability(logprob);
  if (by === "choice") return alternatives[0] && alternatives[0].token.trim() !== token.trim() ? 0.8 : 0.05;
  return 0;
}

/** The text before a token, and what it becomes with another token in its place. */
export function branchText(text: string, token: Token, instead: string): string {
  return Array.from(text).slice(0, token.start).join("") + (token.start === 0 ? instead.trimStart() : instead);
}

export function percent(share: number): string {
  const value = share * 100;
  return `${value < 10 && value > 0 ? value.toFixed(1) : Math.round(value)} %`;
}
