"""Which texts in the user's place were put there by a program: reminders, wrappers, hook output, briefs."""

from collections.abc import Iterable

from clew.transcript import Block, Text
from clew.transcript.view import INTRO

OPENINGS = (
    "<command-name>", "<command-message>", "<command-args>", "<local-command-", "<bash-input>", "<bash-stdout>",
    "<bash-stderr>", "<user-prompt-submit-hook>", "<session-start-hook>", "<system-reminder>", "<task-notification>",
    "<ide_opened_file>", "<ide_selection>", "[Request interrupted by user", "Caveat: The messages below",
    "<environment_context>", "<user_instructions>", "<turn_aborted>", "<permissions instructions>",
    "# AGENTS.md instructions for ", "<INSTRUCTIONS>", INTRO,
)  # fmt: skip
"""How such texts begin, in Claude Code, in Codex and in Clew's own exports."""


def is_synthetic(blocks: Iterable[Block]) -> bool:
    """True if there are words and a program wrote all of them."""
    texts = [block.text.lstrip() for block in blocks if isinstance(block, Text) and block.text.strip()]
    return bool(texts) and all(text.startswith(OPENINGS) for text in texts)
