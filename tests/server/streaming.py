"""A server in a process of its own whose model says so many chunks, and then waits to be killed."""

import os
import sys
import threading

from tests.generation.stage import grove_with
from tests.server.live import LiveServer

from weft.testing import Gate, Reply, Scripted

CHUNKS = tuple(f"{number} " for number in range(200))


def main() -> None:
    address, wanted = sys.argv[1], int(sys.argv[2])
    gate = Gate()
    gate.let(wanted)
    with grove_with(address, Scripted([Reply(chunks=CHUNKS)], gate=gate), background=True) as grove:
        server = LiveServer(grove)
        os.write(1, f"{server.port}\n".encode())
        threading.Event().wait()


if __name__ == "__main__":
    main()
