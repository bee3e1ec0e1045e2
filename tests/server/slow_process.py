"""A server process whose model says two words and then waits, until it is told to go on: `python -m … ADDRESS`."""

import json
import sys
import threading

from weft.grove.grove import open_grove
from weft.providers.base import ProviderRegistry
from weft.server.lifecycle import ServerAddress, serve
from weft.testing import Gate, Scripted


def main(address: str) -> None:
    gate = Gate(2)
    registry = ProviderRegistry({"scripted": Scripted(["One two three four"] * 3, gate=gate)})

    def listen() -> None:
        for _ in sys.stdin:
            gate.open()

    threading.Thread(target=listen, daemon=True).start()

    def ready(at: ServerAddress) -> None:
        sys.stdout.write(json.dumps({"url": at.url, "link": at.link, "token": at.token}) + "\n")
        sys.stdout.flush()

    with open_grove(address, providers=registry) as grove:
        serve(grove, port=0, ready=ready)


main(sys.argv[1])
