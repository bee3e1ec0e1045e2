"""Prompts of summaries, and the sentence that replaces a model's summary."""

from collections.abc import Sequence

NODE = """\
Given this conversation context:
---
Tree: {title}
Previous: {previous}
---

Summarize the following message in ONE sentence (max 30 words).
Capture the key point, action, or decision. Be specific, not generic.

Message: {content}"""

TREE = """\
This is a branching conversation tree. The user describes it as:
"{description}"

Key node summaries from the main path:
{node_summaries}

Branch points explored: {branch_count}

Summarize this tree's purpose and main themes in 2 sentences."""

_DOCUMENT = """\
Summarize the following document in ONE sentence (max 30 words).
Capture the key point, action, or decision. Be specific, not generic.

Document: {content}"""

START = "(start)"
"""What stands before a root."""


def node_prompt(*, title: str, previous: Sequence[str], content: str) -> str:
    """`previous` is the parent's summary or words, after the grandparent's where that is due."""
    before = "\n".join(each for each in previous if each) or START
    return NODE.format(title=title, previous=before, content=content)


def tree_prompt(*, description: str, summaries: Sequence[str], branches: int) -> str:
    return TREE.format(
        description=description, node_summaries="\n".join(summaries) or START, branch_count=branches
    )


def document_prompt(content: str) -> str:
    return _DOCUMENT.format(content=content)
