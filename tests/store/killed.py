"""A process that writes with several threads until it is killed, and says what was acknowledged.

One of its threads opens the grove again and again while the others write, and what it
writes is acknowledged too; now and then it leaves a grove unclosed, as notebooks do.
"""

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


def reopen(address: str, tree_id: str, name: str, seed: int) -> None:
    """Open the grove a second time, write, and close it or drop it."""
    chance = random.Random(seed)
    number = 0
    while True:
        number += 1
        text = f"{name} {number}"
        grove = weft.open(address, timeout=chance.choice([20, 30]), background=chance.random() < 0.3)
        node = grove.tree(tree_id).root.say(text)
        os.write(1, f"{node.id} {text}\n".encode())
        if chance.random() < 0.7:
            grove.close()


def main() -> None:
    address, tree_id, name, threads = sys.argv[1:5]
    with weft.open(address) as grove:
        writers = [
            threading.Thread(
                target=write, args=(grove, tree_id, f"{name}.{number}", hash((name, number)) & 0xFFFF)
            )
            for number in range(int(threads))
        ]
        writers.append(
            threading.Thread(target=reopen, args=(address, tree_id, f"{name}.again", hash(name) & 0xFFFF))
        )
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()


if __name__ == "__main__":
    main()
