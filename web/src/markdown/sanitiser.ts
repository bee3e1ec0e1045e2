/** Sanitised HTML: what markdown may become in the page. Nothing in it can run, load or submit. */

import DOMPurify from "dompurify";

const TAGS = [
  ...["a", "blockquote", "br", "code", "del", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p"],
  ...["pre", "s", "span", "strong", "sub", "sup", "table", "tbody", "td", "th", "thead", "tr", "ul"],
];
/** Addresses are data, not links, until a person clicks. */
const ATTRIBUTES = ["class", "data-address", "data-align", "dir", "role", "start", "tabindex", "title"];
const SAFE_ADDRESS = /^(?:https?:\/\/|mailto:)/i;

export function sanitise(html: string): string {
  return DOMPurify.sanitize(html, {
    ALLOWED_TAGS: TAGS,
    ALLOWED_ATTR: ATTRIBUTES,
    ALLOW_DATA_ATTR: false,
    ALLOW_ARIA_ATTR: false,
  });
}

/** The address to open when a link is clicked, or null if no page may open it. */
export function openableAddress(address: string): string | null {
  const trimmed = address.trim();
  return SAFE_ADDRESS.test(trimmed) && URL.canParse(trimmed) ? trimmed : null;
}
