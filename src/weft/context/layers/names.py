"""Every word that is fixed: tags, headings, references, layers. Changing one changes what models were promised."""

from enum import StrEnum


class LayerId(StrEnum):
    """Layers in the order of their stability."""

    SYSTEM = "L1_SYSTEM"
    LIBRARY = "L2_LIBRARY"
    TURN = "L3_TURN"
    HISTORY = "L4_HISTORY"
    USER = "L5_USER"


LABELS = {
    LayerId.SYSTEM: "System & Policies",
    LayerId.LIBRARY: "Context Library",
    LayerId.TURN: "Smart References",
    LayerId.HISTORY: "Chat History",
    LayerId.USER: "User Message",
}


class ItemType(StrEnum):
    """The types that have a shape of their own; any other is rendered as a plain context item."""

    NOTE = "note"
    ACTIVE_NOTE = "active_note"
    URL = "url"
    SELECTION = "selection"
    QUERY = "query"
    DOCUMENT = "document"
    NODE = "node"


EXPANDED = frozenset({"tag", "folder"})
"""Types of items that stand for others beside them: kept with a turn, and never shown to a model."""

LIBRARY_HEADING = "## Context Library"
REFERENCES = "Context attached:"
FIND_IN_LIBRARY = "Find them in the Context Library above."
FIND_ABOVE = "Find them above."
SEPARATOR = "---\n\n[User query]:\n"
"""Between context and question, so that the question stands last and clear."""
ADDITIONAL = "# Additional context:"
SUMMARY_HEADING = "Summary of the conversation so far:"

ELEMENTS = frozenset(
    {
        *("note_context", "active_note", "url_content", "selected_text", "query_block"),
        *("document_context", "node_context", "context_item"),
        *("title", "path", "url", "id", "type", "ctime", "mtime", "start_line", "end_line", "revision"),
        *("content", "outline", "rest"),
        *("user_memory", "project_system_prompt", "project_context", "reference", "guidance"),
    }
)
"""Tags that nothing from outside may close."""
