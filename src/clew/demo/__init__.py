"""A long session that ships with Clew, to be compacted by `clew demo`, and drafts for the model that plays along."""

from pathlib import Path


def session_path() -> Path:
    """The shipped session: Claude Code's own line format, gzip-compressed. `examples/demo/make_session.py` wrote it."""
    return Path(__file__).with_name("session.jsonl.gz")
