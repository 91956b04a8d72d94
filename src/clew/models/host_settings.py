"""What people set about the small models that Clew serves itself, without a server or a key."""

from typing import Annotated

from pydantic import Field

from clew.settings import Settings

LEAST_WINDOW = 512
"""Tokens; in less there is no room for a request and its answer."""


class HostSettings(Settings):
    """The small models that Clew serves itself on the CPU, under `local/…`."""

    context_window: Annotated[int, Field(ge=LEAST_WINDOW)] = 8_192
    """The window they run with, in tokens; it costs memory. Never more than the weights were trained with."""
    threads: Annotated[int | None, Field(ge=1)] = None
    """Threads that compute. None takes all cores the process may use."""
    weights_url: str = "https://huggingface.co"
    """Where `clew models pull` finds weights: the upstream site, or a mirror with the same paths."""
