"""A small grove to look at: a character study, the opening of a story, and notes for both.

from weft.sample.harbour import plant_samples
samples = plant_samples(weft.open("somewhere.db"))
"""

import hashlib
import json
import random
from typing import NamedTuple

from weft.grove.document import DocumentHandle
from weft.grove.grove import Grove
from weft.grove.node import NodeHandle
from weft.grove.tree import TreeHandle
from weft.ids import Entropy
from weft.tree.attempt import RawResponse, Usage
from weft.tree.item import Item
from weft.tree.node import Status

AGENT = "Sample"
"""The model agent; what it says here was written beforehand."""

_MARIE = """\
You help to find out who Marie is. Answer in two or three sentences.
Prefer what she does to what she feels."""

_NOTES = """\
# The light

Built of granite and good intentions. Ninety-four steps, no landing. The lamp has lit
itself since the harbour office sent a box with a green diode.

# Marie

Sixty-one. Keeps the key, though there is no door any more.

## Habits

Counts aloud going up and in silence coming down.

# Never

She never says the word "lonely". The cat has no name on purpose.
"""


class Samples(NamedTuple):
    """What was planted."""

    marie: TreeHandle
    letter: TreeHandle
    notes: DocumentHandle


def sample_entropy() -> Entropy:
    """The same ids in every new sample grove, so that what the docs say can be typed."""
    return random.Random(1804).randbytes  # noqa: S311 - names of sample nodes, not secrets


def plant_samples(grove: Grove) -> Samples:
    """Plant two trees and a document, linked and tagged."""
    grove.add_agent(AGENT, model_ref="local:sample", temperature=0.8, max_tokens=120)
    notes = grove.write_document("Harbour notes", _NOTES)
    letter = _plant_letter(grove)
    marie = _plant_marie(grove, notes)
    grove.link(notes, marie, "everything that is known about her")
    grove.link(letter, marie, "the same Marie, two years earlier")
    for thing in (notes, letter, marie):
        grove.tag(thing, "harbour")
    return Samples(marie.refresh(), letter.refresh(), notes)


def _plant_marie(grove: Grove, notes: DocumentHandle) -> TreeHandle:
    """A dialogue: three answers to one question, two of them followed, then brought together."""
    tree = grove.plant(
        "Marie",
        "Every evening Marie climbs to the lamp, although it has lit itself for years.",
        mode="dialogue",
        description="A character study",
        system_context=_MARIE,
    )
    known = Item(id=f"doc:{notes.id}", type="document", content=notes.text)
    asked = tree.say("Why does she still climb?", attachments=[known])
    stairs = _answer(
        asked, "Because nobody has told the stairs. She counts them, and each time hopes for ninety-five."
    )
    weather = _answer(
        asked, "To look at the weather, she says. The weather can be seen just as well from her kitchen."
    )
    plain = _answer(asked, "She is lonely, and the climb gives her something to do.")
    plain.annotate("Tells instead of showing, and uses the one word she never would.")
    plain.exclude()

    step = stairs.say("What would she do with the ninety-fifth?")
    sits = _answer(step, "Sit on it. It would be hers; the other ninety-four belong to the harbour office.")
    shoes = sits.edit(
        "Sit on it and take off her shoes. It would be hers; the other ninety-four belong to the harbour office."
    )
    shoes.bookmark("her voice")
    grove.tag(shoes, "keep")

    whom = weather.say("To whom does she say it?")
    cat = _answer(whom, "To the cat and to the man from the office, in the same words. Only the cat nods.")
    grove.link(notes, cat, "the cat without a name")

    both = tree.merge([shoes, cat], "Both, then. Write the evening on which there are ninety-five.")
    _answer(
        both,
        "The last one was narrower than the rest, and warm, as if someone had just",
        status=Status.INTERRUPTED,
    )
    _answer(
        both,
        "Ninety-five, said Marie to the cat, and sat down to be sure. Below them the office went on owning the rest.",
    )
    return tree


def _plant_letter(grove: Grove) -> TreeHandle:
    """A buffer: one text, of which a model wrote a part and a person changed a word here and there."""
    tree = grove.plant("The letter", "The ferry was late, and so the letter came on foot.", mode="buffer")
    walked = _answer(tree.root, " It walked over the hill with the postman's son, who read only the stamps.")
    kettle = walked.say(" Marie laid it on the table and did not open it before the kettle had sung.")
    _answer(kettle, " By then she knew the hand.")
    silence = _answer(kettle, " Nobody had written to her since the lamp.")
    # An edit in a buffer is a version in its place: what follows is shared, nothing is copied.
    walked.edit(" It walked over the hill with the postman's daughter, who read the stamps aloud.")
    silence.switch()
    tree.type(" Inside")
    return tree


def _answer(question: NodeHandle, text: str, *, status: Status = Status.COMPLETE) -> NodeHandle:
    """A node by the model agent, with the bytes that a server would have sent."""
    request_id = f"sample-{hashlib.sha256(text.encode()).hexdigest()[:8]}"
    finish = "stop" if status is Status.COMPLETE else None
    words = len(text.split())
    reply = {
        "id": request_id,
        "model": "sample",
        "choices": [{"index": 0, "text": text, "finish_reason": finish}],
        "usage": {"completion_tokens": words},
    }
    response = RawResponse(
        body=json.dumps(reply, ensure_ascii=False).encode(),
        provider="local",
        model="sample",
        request_id=request_id,
        status_code=200,
        usage=Usage(completion=words),
    )
    return question.say(text, author=AGENT, status=status, response=response)
