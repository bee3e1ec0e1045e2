"""A process that generates in a grove without agents, when it is told to; it prints who answered."""

import sys

import weft
from weft.providers.base import ProviderRegistry
from weft.testing import Scripted


def main() -> None:
    with weft.open(sys.argv[1], providers=ProviderRegistry({"local": Scripted(name="local")})) as grove:
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        sys.stdin.readline()
        (node,) = grove.node(sys.argv[2]).generate()
        sys.stdout.write(f"{node.value.author_id}\n")


if __name__ == "__main__":
    main()
