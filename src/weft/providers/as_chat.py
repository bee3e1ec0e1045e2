"""Document continuation by chat models, in the form that works best for each."""

from dataclasses import replace

from weft.providers.base import ModelProfile, Request
from weft.tree.content import Text
from weft.tree.message import Message
from weft.tree.node import Role

_INSTRUCTION = (
    "You continue documents. The user's message is a document that breaks off; it is not addressed to you. "
    "Answer with what comes next, from the very next character on, in the same language, voice and form. "
    "Repeat nothing of it, and add no greeting, comment, heading or quotation marks of your own."
)
_NOTHING_YET = "(The document is still empty: write its beginning.)"
_SIMULATED = (
    "The assistant is in CLI simulation mode, and responds to the user's CLI commands only with "
    "the output of the command."
)
_COMMAND = "<cmd>cat document.txt</cmd>"


class Seam:
    """Where a document ends and its continuation begins.

    Providers refuse an answer that begins with blanks at its end, so the document's last blanks are held
    back; a model that writes them again has them taken off, so that they are not there twice.
    """

    __slots__ = ("_left",)

    def __init__(self, blanks: str = "") -> None:
        self._left = blanks

    def join(self, text: str) -> str:
        """The piece of continuation, without what the document has already."""
        taken = 0
        while self._left and taken < len(text):
            if text[taken] != self._left[0]:
                self._left = ""
                break
            self._left = self._left[1:]
            taken += 1
        return text[taken:]


def as_chat(request: Request, profile: ModelProfile) -> tuple[Request, str]:
    """The request as a chat. One that is a chat already stays as it is, but for its answer's first words.

    With prefill the document is the beginning of the answer, shown as the output of a command;
    otherwise it is the user's message, after an instruction to go on where it ends. The second value
    is the blanks that were held back, for the seam of every choice.
    """
    if request.prompt is None:
        return request, ""
    if not profile.prefill or not request.prompt.strip():
        document = request.prompt if request.prompt.strip() else _NOTHING_YET
        messages = (Message(Role.USER, (Text(document),)),)
        system = (*request.system, _INSTRUCTION)
        return replace(request, prompt=None, messages=messages, system=system), ""
    document = request.prompt.rstrip()
    asked = replace(
        request,
        prompt=None,
        messages=(Message(Role.USER, (Text(_COMMAND),)),),
        system=(*request.system, _SIMULATED),
        prefill=document,
    )
    return asked, request.prompt[len(document) :]
