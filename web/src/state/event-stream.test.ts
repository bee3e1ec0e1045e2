import { expect, test } from "vitest";
import { type Connection, EventStream, type Message, MessageParser } from "./event-stream";

test("messages are read whole, however the bytes are cut", () => {
  const text = ': hello\n\nid: 7\nevent: append\ndata: {"a":1}\n\nevent: text\ndata: one\ndata: two\n\n';
  for (let size = 1; size <= text.length; size += 1) {
    const parser = new MessageParser();
    const messages: Message[] = [];
    for (let start = 0; start < text.length; start += size) messages.push(...parser.push(text.slice(start, start + size)));
    expect(messages).toEqual([
      { event: "append", data: '{"a":1}', id: "7" },
      { event: "text", data: "one\ntwo", id: null },
    ]);
  }
});

function body(text: string): Response {
  return new Response(new Blob([text]).stream());
}

test("after a lost connection it waits longer each time and resumes at the last id", async () => {
  const cursors: (string | null)[] = [];
  const connections: Connection[] = [];
  const waits: number[] = [];
  const answers = [body("id: 1\ndata: a\n\n"), null, null, body("id: 2\ndata: b\n\n")];
  const stream = new EventStream({
    open: (cursor) => {
      cursors.push(cursor);
      const answer = answers.shift();
      if (answer === undefined) stream.stop();
      return answer ? Promise.resolve(answer) : Promise.reject(new Error("down"));
    },
    onMessage: () => undefined,
    onConnection: (connection) => connections.push(connection),
    wait: (milliseconds) => {
      waits.push(milliseconds);
      return Promise.resolve();
    },
    now: () => 0,
    random: () => 1,
  });
  await stream.run();
  expect(cursors).toEqual([null, "1", "1", "1", "2"]);
  expect(waits).toEqual([500, 1000, 2000, 500]);
  expect(connections.filter(({ status }) => status === "live")).toHaveLength(2);
});

test("an error that trying again does not mend ends the stream", async () => {
  const connections: Connection[] = [];
  const stream = new EventStream({
    open: () => Promise.reject(new Error("signed out")),
    onMessage: () => undefined,
    onConnection: (connection) => connections.push(connection),
    isFinal: () => true,
  });
  await stream.run();
  expect(connections.at(-1)).toMatchObject({ status: "refused" });
});
