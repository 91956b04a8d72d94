"""Under which names a session's row keeps what the gateway knows of it."""

INBOX = "inbox"
"""The messages that were accepted and are no entries yet."""

RUNNING = "running"
"""The run that is under way, where its message is no longer in the inbox."""

INTERRUPTED = "interrupted"
"""The run that a killed process left unfinished, until the next turn has ended."""

ARCHIVED = "archived"
"""Whether it is put away; a new message takes it out again."""
