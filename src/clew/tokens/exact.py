"""Exact token counts from a vocabulary that is on this machine, for those who installed the optional extra."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from clew.errors import BadInput, CallerError
from clew.transcript import clean

ENCODINGS: dict[str, str] = {"o200k": "o200k_base", "cl100k": "cl100k_base", "llama3": "llama3", "qwen3": "qwen3"}
"""The vocabularies there are, and the names their package knows them by."""


def counter(name: str = "o200k") -> Callable[[str], int]:
    """A function that counts the tokens of a text exactly, in the vocabulary `name`, without the network.

    Text that looks like a special token is counted as the words it is. A lone surrogate counts as U+FFFD.
    Loading takes about a second and 80 MB. Raises BadInput for an unknown name, CallerError without the extra.
    """
    if name not in ENCODINGS:
        raise BadInput(f"There is no vocabulary {name!r}; nothing was counted. Known are {', '.join(ENCODINGS)}.")
    encoding = _load(ENCODINGS[name])
    return lambda words: int(encoding.count(clean(words)))


def _load(name: str) -> Any:
    """The vocabulary, from an optional extra that is imported here because it is large and `import clew` is not."""
    try:
        return import_module("quicktok").get_encoding(name)
    except ModuleNotFoundError as error:
        raise CallerError(
            "Exact counts need a vocabulary that is not installed; estimates go on working. "
            "Install it with: pip install 'clew[exact]'"
        ) from error
