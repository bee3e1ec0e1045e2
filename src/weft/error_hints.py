"""Hints of errors that name a call: of each kind what a caller of each face can type.

A hint that names no call is plain text. Where a rendering ends in a call, the call follows the last colon.
"""

from enum import Enum, StrEnum
from typing import NamedTuple, Self


class Face(StrEnum):
    """Where an error is read."""

    PYTHON = "python"
    CLI = "cli"
    AGENT = "agent"
    """Models: in a run, and over MCP."""
    HTTP = "http"


class HintForms(NamedTuple):
    """One kind of hint on every face; `{name}` is a value of the hint."""

    python: str
    cli: str
    agent: str = "ask the human"
    http: str = "ask the owner of the grove"


class HintKind(Enum):
    """What a hint advises."""

    ACCEPT_CLOCK = HintForms(
        'set the clock; if the earlier time was wrong: weft.open("PATH", accept_clock=True)',
        "set the clock; if the earlier time was wrong: weft --accept-clock ls",
    )
    ADD_AUTHORITY = HintForms(
        'choose one: grove.set_authorities({{"URL": "CERTIFICATES"}})',
        "choose one: weft authority add URL --trust CERTIFICATES.pem",
    )
    ADD_COLLABORATOR = HintForms(
        'add one: grove.add_agent("Muse", model_ref="local:smollm2", permissions=["loom_aware", "loom_write"])',
        "add one: weft agents add Muse --model local:smollm2 --may loom_aware --may loom_write",
    )
    ADD_VAULT = HintForms(
        'mount one: grove.vaults.mount("FOLDER")',
        "mount one: weft vault add FOLDER",
        "ask the human to mount one",
    )
    ARCHIVE_TREE = HintForms(
        "archive the tree instead: tree.archive()",
        "archive the tree instead: weft archive TREE",
        "prune what follows it",
        "archive the tree instead",
    )
    ASYNC_FILTERS = HintForms(
        "in an event loop: await apply_filters_async(messages, filters)",
        "run it outside of an event loop",
        "leave the filter out",
        "leave the filter out",
    )
    CALIBRATE = HintForms(
        'calibrate the model first: grove.calibrate("{model}")',
        "name the version of a calibration that exists",
    )
    CHOOSE_PORT = HintForms(
        "pass another port, or 0 for any free one", "choose another with --port, or 0 for any free one"
    )
    COMMAND = HintForms(
        "run the command: grove.do('→ {line}')", "run the command: weft do '→ {line}'", "→ {line}{use}"
    )
    CONFIRM = HintForms("pass confirm={value}", "confirm it with {value}")
    CREATE_GROVE = HintForms(
        'to create it: weft.open("PATH", create=True)', "check the path, or create it: weft new TITLE"
    )
    DECODE_AGAIN = HintForms(
        'decode the bytes again: data.decode(errors="replace")',
        "send it as UTF-8",
        "leave it out",
        "send it as UTF-8",
    )
    DETACH_FIRST = HintForms(
        'to replace it, detach it first: node.detach("ITEM")',
        "to replace it, detach it first: weft detach NODE ITEM",
        "it is attached already",
        "it is attached already",
    )
    DETACH_ONE = HintForms(
        'detach one first: node.detach("ITEM")',
        "detach one first: weft detach NODE ITEM",
        "attach to another node",
        "detach one first",
    )
    DOCTOR = HintForms(
        "to examine the grove itself: grove.verify()", "to examine the grove itself: weft doctor"
    )
    EXPORTED_FILE = HintForms(
        'name a file that an export wrote: grove.export("FILE")',
        "name a file that an export wrote: weft export --out FILE",
        http="name a file that an export wrote",
    )
    EXPORT_OLD = HintForms(
        'export it with the Weft that made it, and import the file here: grove.import_("FILE")',
        "export it with the Weft that made it, and import the file here: weft import FILE",
    )
    FREE_NAME = HintForms(
        'choose another name, or remove it first: tree.uncollapse("{name}")',
        'choose another name, or remove it first: weft expand "{name}" --remove',
        "choose another name",
        "choose another name, or remove it first",
    )
    GIVE_TEXT = HintForms(
        'give its text with it: Item(id="NAME", type="{type}", content="TEXT")',
        "give its text with it: weft attach NODE WHAT --text TEXT",
        'attach a node with its text as [ID]: → respond . "…"',
        "attach an item of type {type}, with its text",
    )
    GRANT = HintForms(
        'let it: grove.perform(ChangeAgent(agent="{name}", permissions=[{names}]))',
        'let it: weft agents set "{name}" {flags}',
        "request elevated permissions or ask the human to {verb}",
        "ask the owner of the grove to permit it",
    )
    INSTALL_LOCAL = HintForms(
        "install it: python -m weft.cli models install local", "install it: weft models install local"
    )
    KEEP_KEYS = HintForms(
        "keep keys in the environment", "keep keys in the environment, or store them: weft keys set PROVIDER"
    )
    KEY_FILE = HintForms(
        "repair or remove it, and set its keys again",
        "repair or remove it, and set its keys again: weft keys set PROVIDER",
    )
    KEY_FOR_HOST = HintForms(
        "set {variable} and {variable}_FOR={host}",
        "set {variable} and {variable}_FOR={host}, or store the key: weft keys set {provider} --for {host}",
    )
    KEY_MISSING = HintForms(
        "set {variable}; local:smollm2 needs none",
        "local:smollm2 needs none; set {variable}, or store the key: weft keys set {provider}",
    )
    KEY_REFUSED = HintForms("set another key in the environment", "set another key: weft keys set {provider}")
    LIST_AGENTS = HintForms(
        "a model has a model_ref: grove.agents()",
        "to see which are models: weft agents",
        "name a model's agent",
        "name a model's agent",
    )
    LIST_AUTHORITIES = HintForms(
        'choose them: grove.set_authorities({{"URL": "CERTIFICATES"}})', "to list them: weft authority"
    )
    LIST_JOBS = HintForms("to list them: grove.jobs.all()", "to list them: weft jobs")
    LIST_KEYS = HintForms("keys are in the environment or in the key file", "to list them: weft keys")
    LIST_MODELS = HintForms(
        "name another model of {provider}",
        "to list the models: weft models {provider}",
        "name another agent",
        "name another model of {provider}",
    )
    LIST_NAMES = HintForms(
        "to list them: grove.{names}()",
        "to list them: weft {command}",
        "name one that exists",
        "name one that exists",
    )
    LIST_TOKENS = HintForms(
        "to list them by id: grove.users.tokens()", "to list them by id: weft users tokens"
    )
    LIST_USERS = HintForms("to list them: grove.users.list()", "to list them: weft users")
    LIST_VAULTS = HintForms("to list them: grove.vaults.all()", "to list them: weft vault ls")
    LOOM_AWARE = HintForms(
        'let it: grove.perform(ChangeAgent(agent="{name}", permissions=["loom_aware", "loom_write"]))',
        'let it: weft agents set "{name}" --may loom_aware --may loom_write',
    )
    LOWER_TOKENS = HintForms(
        "pass max_tokens, choose a cheaper model, or raise the cap: grove.generations.set_cap(10)",
        "pass --max-tokens, choose a cheaper model, or raise the cap: weft spend cap 10",
        "use tokens:N with less, name a cheaper agent, or ask the human to raise the cap",
        "choose a cheaper model, or ask the owner of the grove to raise the cap",
    )
    NAME_ONE = HintForms(
        "name one of {names}",
        "name one of {names}",
        "go to one of {names} first: → switch {first}",
        "name one of {names}",
    )
    NEW_TOKEN = HintForms(
        'an owner of the grove issues one: grove.users.issue("NAME")',
        "an owner of the grove issues one: weft users token NAME",
        http="ask an owner of the grove for a token",
    )
    NO_TOOLS = HintForms(
        "leave tools and tool_outputs out", "leave --tool out", "leave it out", "leave it out"
    )
    OFFSET = HintForms(
        "use an offset between 1 and {last}",
        "use an offset between 1 and {last}",
        "quote words from its middle",
        "use an offset between 1 and {last}",
    )
    OVERWRITE = HintForms("name another file, or pass overwrite=True", "name another file, or pass --force")
    PLANT = HintForms(
        'plant one: grove.plant("A title")', 'plant one: weft new "A title"', "ask the human to plant one"
    )
    QUOTE_MORE = HintForms(
        "quote more of the text, or give an offset",
        "quote more of the text, or give an offset",
        "quote more of the text",
        "quote more of the text, or give an offset",
    )
    READ_TEXT = HintForms("its text: tree.text", "its text: weft read", http="read its text")
    REMEMBER = HintForms(
        'to begin it: grove.remember("TEXT")', "to begin it: weft remember TEXT", "ask the human to begin it"
    )
    REMOVE_NUL = HintForms(
        "remove it, or store the bytes: grove.put_blob(data)", "remove it", "leave it out", "remove it"
    )
    REPAIR = HintForms("to {effect}: examine(address, repair=True)", "to {effect}: weft doctor --repair")
    RESTORE_AGENT = HintForms(
        "restore it, or act as another agent",
        "restore it, or act as another: weft agents archive AGENT --undo",
        "ask the human to restore it",
    )
    RESTORE_DOCUMENT = HintForms(
        "restore it first: document.unarchive()",
        "restore it first: weft doc archive DOC --undo",
        "ask the human to restore it",
    )
    RESTORE_OR_OTHER = HintForms(
        "restore it, or name another",
        "name another, or restore it: weft agents archive AGENT --undo",
        "name another",
        "name another",
    )
    SAY_BELOW = HintForms(
        'say the new text under it: node.say("TEXT")',
        "say the new text under it: weft say TEXT",
        'say the new text under it: → respond . "…"',
        "say the new text under it",
    )
    SEE_CONTEXT = HintForms(
        "only what Weft asked of a model itself has one; what it would ask: node.context()",
        "only what Weft asked of a model itself has one; what it would ask: weft context",
        "only what Weft asked of a model itself has one",
        "only what Weft asked of a model itself has one",
    )
    SENT_TEXT = HintForms(
        "what was sent of it: node.processed_text", "its own words: weft read", "view it", "read the node"
    )
    SETUP = HintForms("{text}", "{text}")
    SET_CAP = HintForms(
        'for example: grove.generations.set_cap(5, period="day")',
        "for example: weft spend cap 5 --day",
        "ask the human to set a spend cap",
    )
    SHORTEN = HintForms(
        "split it, or keep it in a document or a blob",
        "split it, or keep it in a document: weft doc new TITLE",
        "make it shorter",
        "split it, or keep it in a document or a blob",
    )
    SHORTER_ANSWER = HintForms(
        "what came is kept as interrupted; pass max_tokens",
        "what came is kept as interrupted; pass --max-tokens",
        "what came is kept as interrupted; use tokens:N with less",
        "what came is kept as interrupted; lower the model's answer",
    )
    STORE_BYTES = HintForms(
        "store the bytes first, which returns the ref: grove.put_blob(data)",
        "name bytes that are stored in the grove",
        "name bytes that are stored in the grove",
        "name bytes that are stored in the grove",
    )
    UNARCHIVE = HintForms(
        "unarchive it first: tree.unarchive()",
        "unarchive it first: weft archive TREE --undo",
        "ask the human to unarchive it",
        "unarchive it first",
    )
    VERIFY = HintForms("to find what is damaged: grove.verify()", "to find what is damaged: weft verify")


class Hint(str):
    """A hint of a kind, with its values; as a string, what a Python caller can type."""

    __slots__ = ("kind", "values")
    kind: HintKind
    values: dict[str, str]

    def __new__(cls, kind: HintKind, **values: str) -> Self:
        hint = super().__new__(cls, kind.value.python.format(**values))
        hint.kind = kind
        hint.values = values
        return hint

    def on(self, face: Face) -> str:
        form: str = getattr(self.kind.value, face.value)
        return form.format(**self.values)

    def __reduce__(self) -> tuple[object, ...]:
        return _hint, (self.kind, self.values)


def _hint(kind: HintKind, values: dict[str, str]) -> Hint:
    return Hint(kind, **values)


def hint_on(face: Face, hint: str | None) -> str | None:
    """A hint as a face shows it; one that names no call is the same everywhere."""
    return hint.on(face) if isinstance(hint, Hint) else hint
