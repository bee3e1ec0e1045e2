// @vitest-environment jsdom
import { describe, expect, test } from "vitest";
import { PAYLOADS } from "./injection-payloads";
import { MarkdownStream, renderMarkdown } from "./render";
import { openableAddress, sanitise } from "./sanitiser";

const html = (text: string): string =>
  renderMarkdown(text)
    .map((block) => block.html)
    .join("");

test("markdown is rendered", () => {
  expect(html("# Door\n\nA *key*, **oil**.\n\n- one\n- two")).toBe(
    "<h1>Door</h1>\n<p>A <em>key</em>, <strong>oil</strong>.</p>\n<ul>\n<li>one</li>\n<li>two</li>\n</ul>\n",
  );
  expect(html("| a | b |\n|---|--:|\n| 1 | 2 |")).toContain("<td>1</td>");
  expect(html('```js\nlet a = "<b>"\n```')).toBe('<pre><code class="language-js">let a = "&lt;b&gt;"\n</code></pre>\n');
});

test("links do nothing until clicked", () => {
  expect(html("[a](https://example.org/x?a=1&b=2)")).toBe(
    '<p><a role="link" tabindex="0" data-address="https://example.org/x?a=1&amp;b=2" title="https://example.org/x?a=1&amp;b=2">a</a></p>\n',
  );
  expect(html("![plan](https://example.org/p.png)")).not.toContain("<img");
  expect(html("![plan](https://example.org/p.png)")).toContain(">plan</a>");
  expect(html("[a](/t/secret)")).toBe('<p><span class="link-refused">a</span></p>\n');
});

test.each([
  ["https://example.org", true],
  ["mailto:ada@example.org", true],
  ["javascript:alert(1)", false],
  ["JaVaScRiPt:alert(1)", false],
  ["data:text/html,<script>alert(1)</script>", false],
  ["vbscript:x", false],
  ["file:///etc/passwd", false],
  ["//example.org", false],
  ["https://", false],
])("whether %s can be opened: %s", (address, openable) => {
  expect(openableAddress(address) !== null).toBe(openable);
});

test("blocks together are the text, and only the last one is open", () => {
  const text = "First\n\n\n> quote\n> more\n\n```\ncode\n\nmore\n```\nafter\n\n1. a\n\n   b\n2. c\n";
  const stream = new MarkdownStream();
  for (let end = 0; end <= text.length; end++) {
    const blocks = stream.update(text.slice(0, end), false);
    expect(blocks.map((block) => block.source).join("")).toBe(text.slice(0, end));
    blocks.slice(0, -1).forEach((block) => expect(block.html).not.toBeNull());
    if (blocks.length) expect(blocks.at(-1)!.html).toBeNull();
  }
  const done = stream.update(text, true);
  expect(done.map((block) => block.html).join("")).toBe(
    renderMarkdown(text)
      .map((block) => block.html)
      .join(""),
  );
});

test("a text that was replaced is rendered from its beginning", () => {
  const stream = new MarkdownStream();
  stream.update("one\n\ntwo\n\nthree", false);
  expect(stream.update("other", true).map((block) => block.html)).toEqual(["<p>other</p>\n"]);
});

test("blocks that were closed are not rendered again", () => {
  const stream = new MarkdownStream();
  const [first] = stream.update("one\n\ntwo", false);
  expect(stream.update("one\n\ntwo three\n\nfour", false)[0]).toBe(first);
});

describe("script injection", () => {
  const inspect = (markup: string): void => {
    const page = document.createElement("div");
    page.innerHTML = markup;
    for (const element of page.querySelectorAll("*")) {
      expect(element.namespaceURI).toBe("http://www.w3.org/1999/xhtml");
      expect([
        "SCRIPT",
        "IFRAME",
        "OBJECT",
        "EMBED",
        "STYLE",
        "LINK",
        "META",
        "BASE",
        "FORM",
        "IMG",
        "VIDEO",
        "AUDIO",
        "INPUT",
      ]).not.toContain(element.tagName);
      for (const { name, value } of element.attributes) {
        expect(name).toMatch(/^(class|data-address|data-align|dir|role|start|tabindex|title)$/);
        if (name === "data-address") expect(value).toMatch(/^(https?:\/\/|mailto:)/i);
      }
    }
  };
  test.each(PAYLOADS)("%s", (payload) => {
    inspect(html(payload));
    inspect(sanitise(payload));
    inspect(html("```\n" + payload + "\n```"));
    inspect(html(`[${payload}](${payload})`));
    inspect(html(`> - ${payload}`));
  });
});
