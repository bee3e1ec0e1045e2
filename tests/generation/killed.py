"""A process that listens to a model until it is killed: it says when so much of the answer is durable."""

import os
import sys

from tests.generation.stage import grove_with

from weft.runtime.generation.stream import TextChunk
from weft.store.model_calls import calls_under_way, pieces_of
from weft.testing import Gate, Reply, Scripted

CHUNKS = tuple(f"{number} " for number in range(200))


def main() -> None:
    address, node, wanted, waits = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4] == "durable"
    gate = Gate()
    gate.let(wanted)
    with grove_with(address, Scripted([Reply(chunks=CHUNKS)], gate=gate)) as grove:
        text = "".join(CHUNKS[:wanted])
        said = ""
        stream = grove.node(node).stream(idempotency_key=sys.argv[5] if len(sys.argv) > 5 else None)
        for event in stream:
            said += event.text if isinstance(event, TextChunk) else ""
            if said == text:
                break
        while waits and _flushed(grove) != text:
            pass
        os.write(1, b"ready\n")
        # Nothing more comes through the gate: it waits here for its end.
        stream.result()


def _flushed(grove) -> str:
    import json

    with grove.caller.executor.store.read() as session:
        (call,) = calls_under_way(session)
        pieces = pieces_of(session, call.call.tree, call.call.attempt)
    return "".join(words for piece in pieces for _, _, words in json.loads(piece.said))


if __name__ == "__main__":
    main()
