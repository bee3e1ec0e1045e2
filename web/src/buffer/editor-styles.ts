/**
 * The styles of the editor, adopted by its shadow root.
 *
 * In a document the editor would add a style element, which the content security policy refuses; in a shadow root it
 * adopts sheets, which need no exception. What the page says of authors and ghosts is said here again.
 */

const DYES = ["you", "madder", "verdigris", "orchil", "moss", "weld", "cochineal"];

const RULES = `
.cm-editor { height: 100%; min-height: 0; }
.cm-editor.cm-focused { outline: none; }
.cm-editor .cm-scroller { overflow-y: auto; font: inherit; line-height: inherit; scrollbar-width: thin; }
.cm-editor .cm-content { padding: 1.4rem .5rem 2.2rem; caret-color: var(--accent); outline: none; }
.by { color: var(--dye); }
.by.you { color: var(--ink); }
.by--underline, .by--underline.you { color: inherit; text-decoration: underline 2px var(--dye); text-underline-offset: .25em; }
.pending { text-decoration: underline dotted var(--edge) 1.5px; text-underline-offset: .28em; }
.ghosted { color: var(--ink-3); background: var(--sunken); border-radius: 2px; }
.seam { display: inline-block; width: 0; height: .95em; border-left: 1px solid var(--ghost); margin: 0 -.5px; vertical-align: -.1em; }
kbd { display: inline-block; padding: 0 .25rem; font: 500 var(--t-micro)/1.05rem var(--face-ui); color: var(--ink-2); background: var(--raised); border: 1px solid var(--line); border-radius: var(--r-1); }
`;

export function editorStyles(): CSSStyleSheet {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(RULES + DYES.map((dye) => `.${dye} { --dye: var(--${dye}); }`).join("\n"));
  return sheet;
}
