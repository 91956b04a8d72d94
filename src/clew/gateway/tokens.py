"""The gateway's token: made once, kept as a hash, compared in constant time."""

import hashlib
import hmac
import os
import re
import secrets
from pathlib import Path

from clew.errors import BadSettings

FILE = "gateway-token.sha256"
"""Where the hash of a token that was made is kept, in the data directory."""

LEAST = 16
"""Characters a token that is set must have."""

_HASH = re.compile("[0-9a-f]{64}")
"""What a kept hash looks like; anything else in the file is made anew."""


class Tokens:
    """Who may come in."""

    def __init__(self, hashes: frozenset[str]) -> None:
        self._hashes = hashes

    def fits(self, token: str | None) -> bool:
        """Whether this is a token that was given out."""
        given = digest(token or "")
        return sum(hmac.compare_digest(given, known) for known in self._hashes) > 0  # all are looked at, always

    @classmethod
    def of(cls, written: str | None, folder: Path, *, anew: bool = False) -> "tuple[Tokens, str | None]":
        """The tokens in force, and the one that was made just now, to be shown once; None where there was one.

        `written` is what the settings say; `anew` makes a new one, and the old one is worth nothing any more. Raises
        BadSettings.
        """
        if written is not None:
            if len(written) < LEAST or not (written.isascii() and written.isprintable() and " " not in written):
                raise BadSettings(
                    f"gateway.auth.token has {len(written)} characters; a token has at least {LEAST}, "
                    "of ASCII and without spaces. "
                    "Nothing was started. Leave it out and one is made."
                )
            return cls(frozenset({digest(written)})), None
        file = folder / FILE
        if not anew and file.exists() and _HASH.fullmatch(kept := file.read_text("ascii", "replace").strip()):
            return cls(frozenset({kept})), None
        made = secrets.token_urlsafe(24)
        folder.mkdir(parents=True, exist_ok=True)
        _write(file, digest(made))
        return cls(frozenset({digest(made)})), made


def digest(token: str) -> str:
    """A token's hash. A made token has 192 bits of chance, so that no salt and no slow hash is needed."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _write(file: Path, text: str) -> None:
    """A file that its owner alone may read, whole or not at all."""
    fresh = file.with_name(f"{file.name}.{secrets.token_hex(4)}")
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
        out.write(text)
    fresh.replace(file)
