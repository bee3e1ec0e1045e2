"""A process that writes with several threads until it is killed, and says what was acknowledged."""

import os
import random
import sys
import threading

import weft


def write(grove: weft.Grove, tree_id: str, name: str, seed: int) -> None:
    """Say, edit, annotate, prune and restore; each node id is told once it is acknowledged."""
    chance = random.Random(seed)
    tree = grove.tree(tree_id)
    mine = [tree.root]
    number = 0
    while True:
        number += 1
        text = f"{name} {number} " + "x" * chance.randrange(400)
        at = chance.choice(mine[-20:])
        kind = chance.random()
        if kind < 0.7 or at.value.is_root:
            node = at.say(text)
            mine.append(node)
        elif kind < 0.85:
            node = at.annotate(text)
        elif kind < 0.95:
            node = at.edit(text)
        else:
            node = at.bookmark(text)
            text = "★"
        os.write(1, f"{node.id} {text}\n".encode())


def main() -> None:
    address, tree_id, name, threads = sys.argv[1:5]
    with weft.open(address) as grove:
        writers = [
            threading.Thread(
                target=write, args=(grove, tree_id, f"{name}.{number}", hash((name, number)) & 0xFFFF)
            )
            for number in range(int(threads))
        ]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()


if __name__ == "__main__":
    main()
