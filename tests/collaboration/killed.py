"""A process in which a collaborator works until it is killed: it says when it has come to the place."""

import os
import sys

from sqlalchemy import select
from tests.collaboration.stage import run, workshop

from weft.runtime.collaboration.run_events import Answered
from weft.store import schema
from weft.testing import Gate, Reply, Scripted


def main() -> None:
    address, node, where = sys.argv[1:4]
    slow, gate = Gate(), Gate()
    batch = f'Let me.\n→ annotate {node} "one"\n→ continue from {node} using agent:"Slow"\n→ annotate {node} "two"\n'
    if where == "speaking":
        batch = f'Let me.\n→ annotate {node} "one"\n'
    says = [Reply(text=batch), Reply(chunks=("And ", "so\n", f'→ annotate {node} "three"\n', "on and"))]
    gate.let(1_000 if where == "batch" else len(says[0].pieces) + 1 + 3)
    subject = Scripted([Reply(chunks=("Never ", "said"))], name="slow", gate=slow)
    with workshop(address, says, subject, gate=gate) as (grove, tree, _):
        grove.add_agent("Slow", model_ref="slow:x")
        going = run(grove, tree, None, node=node)
        next(event for event in going if isinstance(event, Answered))
        if where == "batch":
            # The first command is done, the second waits for a subject who says nothing.
            slow.wait(1)
        else:
            while "three" not in flushed(grove):
                pass
        os.write(1, b"ready\n")
        going.result()


def flushed(grove) -> str:
    """What is written down of the answers under way."""
    with grove.read.store.read() as session:
        return "".join(session.execute(select(schema.pieces.c.said)).scalars())


if __name__ == "__main__":
    main()
