"""A long dialogue: two people and three models plan a story about a village that will be flooded.

Its requests are small on purpose: what was decided early is cut from later ones, and one answer
shows what that costs.
"""

import dataclasses
import math
import struct
import zlib
from collections import deque

from weft.grove.grove import Grove
from weft.grove.node import NodeHandle
from weft.grove.tree import TreeHandle
from weft.providers.base import ProviderRegistry
from weft.providers.scripted import Reply, Scripted
from weft.runtime.operations.agents import ArchiveAgent
from weft.runtime.operations.executor import Caller
from weft.tree.agent import AgentType
from weft.tree.content import Image, Mixed, Text
from weft.tree.item import Item

TITLE = "What is saved from Lowmoor"
SMALL = "Smol"
"""The agent of the embedded model, which can be asked."""
_HERON, _WREN, _MARGIN, _NOOR = "Heron", "Wren", "Margin", "Noor"
"""What these three models say was written beforehand, so they are archived in the end."""
_WINDOW = {"contextWindow": 2_048}
_RIGHTS = ("loom_aware", "loom_write")

_SYSTEM = """\
We are planning a short story together. Answer in one or two paragraphs.
Keep to what was decided; prefer an object or a number to a feeling."""

_DECIDED = """\
# Lowmoor

A village of forty-one houses in a side valley. The water board closes the dam on
the first of October.

# People

Ansel Pryce, parish clerk for thirty-one years. Cannot leave a column blank.
Miss Tolliver, engineer of the water board. Carries her own pencil sharpener.
Widow Garrick, the last house on the lane. Says she will not move, and packs.

# Numbers

The water rises nine centimetres a day.
"""


def plant_lowmoor(grove: Grove) -> TreeHandle:
    """Plant the tree, its document and its agents."""
    script = deque[Reply]()
    model = Scripted(lambda _request, _choice: script.popleft(), name="sample")
    executor = dataclasses.replace(grove.caller.executor, providers=ProviderRegistry({"sample": model}))
    planted = _Story(Grove(Caller(executor, grove.caller.actor)), script).plant()
    return grove.tree(planted.id)


def continue_lowmoor(tree: TreeHandle, *, n: int = 2) -> None:
    """Let the embedded model go on, with the probabilities of its tokens."""
    tree.cursor.generate(agent=SMALL, n=n, logprobs=5, max_tokens=60)


class _Story:
    """The story while it is written: who says what after what."""

    def __init__(self, grove: Grove, script: deque[Reply]) -> None:
        self.grove = grove
        self.script = script

    def plant(self) -> TreeHandle:
        self._add_agents()
        document = self.grove.write_document("Lowmoor, decided", _DECIDED)
        tree = self.grove.plant(
            TITLE,
            "A valley is to be flooded for a reservoir, and the village in it has until the first of October. "
            "I want a story about the person who makes the list of what is saved. Who is it?",
            mode="dialogue",
            description="Two writers and three models plan a story. Early decisions fall out of later requests.",
            system_context=_SYSTEM,
        )
        decided = Item(id=f"doc:{document.id}", type="document", content=document.text)
        water = self._begin(tree)
        list_ends, widow = self._middle(tree, water, decided)
        self._end(tree, list_ends, widow)
        self.grove.link(document, tree, "kept by hand while we talk")
        for thing in (document, tree):
            self.grove.tag(thing, "lowmoor")
        for name in (_HERON, _WREN, _MARGIN):
            self.grove.perform(ArchiveAgent(agent=name))
        return tree.refresh()

    def _add_agents(self) -> None:
        generations = self.grove.generations
        self.grove.add_agent(SMALL, model_ref="local:smollm2", max_tokens=120, custom=_WINDOW)
        if generations.default_agent is None:
            generations.choose_default(SMALL)
        self.grove.add_agent(_NOOR, type=AgentType.HUMAN)
        for name, temperature in ((_HERON, 0.8), (_WREN, 0.4)):
            self.grove.add_agent(
                name, model_ref=f"sample:{name.lower()}", temperature=temperature, custom=_WINDOW
            )
        self.grove.add_agent(_MARGIN, model_ref="sample:margin", permissions=_RIGHTS, custom=_WINDOW)

    def _answer(self, to: NodeHandle, agent: str, text: str) -> NodeHandle:
        self.script.append(Reply(text=text))
        return to.generate(agent=agent)[0]

    def _noor(self, to: NodeHandle, text: str) -> NodeHandle:
        theirs = self.grove.acting_as(_NOOR).tree(to.tree_id).node(to.id).say(text)
        return self.grove.tree(to.tree_id).node(theirs.id)

    def _begin(self, tree: TreeHandle) -> NodeHandle:
        """Who makes the list, and how fast the water comes."""
        clerk = self._answer(
            tree.root,
            _HERON,
            "The parish clerk. He has no power over the water and complete power over the list. Everyone in "
            "the valley owns something that is worth nothing, and he is the only man who must write down which.",
        )
        child = self._answer(
            tree.root,
            _WREN,
            "A child of nine, because nobody else would put the frogs first. The grown-ups sign each page "
            "without reading it.",
        )
        child.bookmark("for another story")
        engineer = self._answer(
            tree.root,
            _HERON,
            "The engineer who sets the level. She is asked for a list by letter, and answers with a contour.",
        )
        self._noor(engineer, "Keep her, but not as the one who tells it.")
        name = clerk.say("The clerk. Give him a name and one fault that will matter.")
        pryce = self._answer(
            name,
            _HERON,
            "Ansel Pryce, clerk for thirty-one years. His fault is that he cannot leave a column blank. Where "
            "a thing has no value he writes the weight; where it has no weight, the number of people who "
            "asked after it.",
        )
        speed = self._noor(pryce, "Then the water must be a number too. How fast does it come?")
        water = self._answer(
            speed,
            _WREN,
            "Nine centimetres a day from the first of October. The chapel step on the third day, the school "
            "sills on the eleventh, the bell frame on the sixtieth. He works it out on the back of the list "
            "and is ashamed of how much he enjoys it.",
        )
        speed_again = self._answer(
            speed, _WREN, "Slowly. It comes the way a bill comes: you knew, and still the date surprises you."
        )
        speed_again.exclude()
        return water

    def _middle(self, tree: TreeHandle, water: NodeHandle, decided: Item) -> tuple[NodeHandle, NodeHandle]:
        """The list, with the bell that the end will need; then two branches that end in different places."""
        drawn = Image(
            ref=self.grove.put_blob(_valley_map()),
            mime_type="image/png",
            width=_WIDE,
            height=_HIGH,
            alt_text="Contour map of a side valley; the lowest third is shaded up to one line.",
        )
        chart = water.say("Draw the line at a third of the valley's height. What lies below it?")
        chart.annotate(Mixed(blocks=(Text("The valley, roughly; grey is under water."), drawn)))
        below = self._answer(
            chart,
            _WREN,
            "Thirty-three of the forty-one houses, the school, the forge, the whole of the orchard and the lower "
            "half of the churchyard. The line goes through the Garricks' kitchen: the stove stays dry.",
        )
        graves = self._noor(below, "The churchyard. Does he list the dead?")
        dead = self._answer(
            graves,
            _HERON,
            "He tries to leave them out, and the column defeats him. There are a hundred and nine stones below "
            "the line. He writes their weights first. On the second evening he rubs the weights out and writes "
            "who still brings flowers; the number is six, and one of the six is himself.",
        )
        school = dead.say("And the school?")
        register = self._answer(
            school,
            _WREN,
            "One register from 1861, with the absences in red. In the harvest weeks the page is nothing but red. "
            "Miss Tolliver asks whether that is ink damage.",
        )
        tolliver = self._noor(register, "I like her already. What does she want from him?")
        wants = self._answer(
            tolliver,
            _HERON,
            "A total. She has a form with one line for it. He explains that the things cannot be added, and she "
            "says, kindly, that they have been added already; the sum is the height of the dam.",
        )
        orchard = wants.say("He needs something he cannot weigh. The orchard?")
        apples = self._answer(
            orchard,
            _HERON,
            "Sixty trees, of which nine are one tree: somebody grafted the same branch round the whole wall in "
            "the year of the comet. He counts it nine times, then once, then writes one and nine in the same "
            "box, very small. It is the first untidy entry in thirty-one years.",
        )
        forge = self._noor(apples, "Who notices?")
        smith = self._answer(
            forge,
            _WREN,
            "The smith, who reads upside down because he has spent his life on the other side of counters. He "
            "says nothing and offers Ansel an apple.",
        )
        bell_asked = smith.say(
            "Good. The bell should be the last thing on the list. Tell me about the bell.",
            attachments=[decided],
        )
        bell = self._answer(
            bell_asked,
            _HERON,
            "They call it Old Martha. Cast in 1788, 412 kilos, cracked on the south lip so that it says its "
            "own name with a lisp. It was paid for by forty-one houses at a penny a week, and every house "
            "still believes that its penny was the one that cracked it.",
        )
        tree.collapse(graves, orchard, "What he counts", "Graves, school, engineer, orchard")
        turning = bell.say("Now the turn. What makes him stop counting?")
        ledger = self._answer(
            turning,
            _HERON,
            "The list is finished a week early. He reads it through and finds that everything on it is a thing "
            "that someone could carry; he has written a list of what leaves, and nobody has asked him for what "
            "stays. So he begins again at the top, on the backs of the pages, in pencil.",
        )
        lane = self._answer(
            turning,
            _WREN,
            "Widow Garrick does. She has packed everything and will not go, and she asks him to list the lane "
            "itself, with its puddles, because her husband is in the habit of it.",
        )
        ledger.bookmark("the turn")
        backs = ledger.say("What stays, then? Three entries, no more.")
        stays = self._answer(
            backs,
            _WREN,
            "The echo at the forge. The smell of the school stove on the first cold day. The stair in the "
            "chapel tower that everybody steps over.",
        )
        stair = self._noor(stays, "The stair. That is where the bell comes down.")
        ending = self._answer(
            stair,
            _HERON,
            "Then the last entry of the second list is a warning: mind the fourth stair. Someone will carry the "
            "bell over it backwards, and step over a stair that he cannot see because he has always stepped "
            "over it.",
        )
        puddles = self._noor(lane, "What does he write for the lane?")
        widow = self._answer(
            puddles,
            _HERON,
            "Its length, two hundred and six paces at her husband's stride, which is longer than Ansel's; so "
            "he walks it beside her, taking steps that are too long for him, until the number comes out.",
        )
        return ending, widow

    def _end(self, tree: TreeHandle, ending: NodeHandle, widow: NodeHandle) -> None:
        both = tree.merge(
            [ending, widow],
            "Both lists, then: the fourth stair and the two hundred and six paces. How do they meet?",
        )
        meet = self._answer(
            both,
            _HERON,
            "On the last morning the bell goes down the lane on the smith's cart, and Ansel walks behind it with "
            "the widow, at her husband's stride. It is the only entry that is on both lists: once as a weight, "
            "and once as a distance.",
        )
        better = meet.edit(
            "On the last morning the bell goes down the lane on the smith's cart, and Ansel walks behind it with "
            "the widow, at her husband's stride. It is the only entry on both lists: on the front as a weight, "
            "on the back as a distance."
        )
        asked = better.say("Write the paragraph in which they take the bell down. Give its weight.")
        wrong = self._answer(
            asked,
            _HERON,
            "Four men had said four, and then six came. Two tonnes of bronze, said the smith, and spat for luck. "
            "They lowered it by the hand-rope, a stair at a time, and at the fourth stair all six stepped over "
            "nothing, together, as they had done since they were boys.",
        )
        right = self._answer(
            asked,
            _WREN,
            "They brought it down backwards. At the fourth stair the smith lifted his heel without looking, and "
            "the bell, which had never in its life been quiet, said half its name.",
        )
        self._remark(tree, wrong)
        self._noor(wrong, "It is too heavy now. Where did two tonnes come from?")
        right.switch()

    def _remark(self, tree: TreeHandle, wrong: NodeHandle) -> None:
        """The collaborator reads the last answer, finds the cause and writes it beside the text."""
        note = (
            "Not two tonnes: 412 kilos, decided when the bell was named. That answer is inside the cut, so this "
            "request did not contain it. Write it into the document, or raise the limit, and ask again."
        )
        self.script.append(Reply(text=f"I will look at it.\n→ view {wrong.local_id}\n"))
        self.script.append(Reply(text=f'→ annotate {wrong.local_id} "{note}"\n'))
        self.script.append(Reply(text="The weight is a guess; I left a note beside it."))
        wrong.switch()
        tree.collaborate(_MARGIN, "Does the last answer keep to what was decided?")


_WIDE, _HIGH = 240, 150
_LINES = 9


def _valley_map() -> bytes:
    """A PNG of contour lines; the part that will be flooded is grey."""
    rows = bytearray()
    for y in range(_HIGH):
        rows.append(0)
        rows += bytes(_shade(x / _WIDE, y / _HIGH) for x in range(_WIDE))
    header = struct.pack(">IIBBBBB", _WIDE, _HIGH, 8, 0, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(bytes(rows), 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in parts
    )


def _shade(x: float, y: float) -> int:
    """The colour of a place: dark on a contour line, grey below the water."""
    height = abs(y - 0.5 - 0.18 * math.sin(5 * x)) * 1.6 + 0.35 * x
    step = height * _LINES
    if step - math.floor(step) < 0.12:
        return 90
    return 205 if height < 1 / 3 else 245
