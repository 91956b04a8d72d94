"""What runs without asking: commands by pattern, tools by name, and the variables a command is not given."""

import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

from clew.workspace.port import Gate
from clew.workspace.settings import Ask

OPERATORS = r";|&<>()`$\{}" + "\n\r\0"
"""Signs with which a shell joins, redirects, substitutes or groups, and the backslash that hides one. A pattern's `*`
stands for none of them, quoted or not: whether a quoted one is harmless, only a shell could say."""

_SECRET_WORDS = frozenset(
    "key keys apikey token tokens secret secrets password passwd passphrase pass pwd credential credentials creds "
    "cookie cookies auth bearer pat private dsn".split()
)
_SECRET_ENDS = ("key", "token", "secret", "password", "passwd", "credentials")
_HARMLESS = frozenset({"PWD", "OLDPWD", "SSH_AUTH_SOCK"})
_INNER_LOGIN = re.compile(r"://[^/\s:@]*:[^/\s@]+@")
"""A login inside a URL, as databases' addresses have it."""


@cache
def _pattern(pattern: str) -> re.Pattern[str]:
    plain = f"[^{re.escape(OPERATORS)}]"
    signs = {"*": f"{plain}*", "?": plain}
    return re.compile("".join(signs.get(sign, re.escape(sign)) for sign in pattern.strip()))


def allowed(command: str, patterns: Iterable[str]) -> bool:
    """Whether some pattern matches the whole of a command. A pattern without shell operators never matches one."""
    return any(_pattern(pattern).fullmatch(command.strip()) for pattern in patterns)


def command_gate(ask: Ask, patterns: tuple[str, ...]) -> Gate | None:
    """Whether a command has to be asked for, by the settings of `exec`."""
    if ask == "never":
        return None

    def gate(arguments: Mapping[str, Any]) -> str | None:
        command = str(arguments.get("command", ""))
        if ask == "unless-allowed" and allowed(command, patterns):
            return None
        return "every command is asked for" if ask == "always" else "no pattern of `tools.exec.allow` matches it"

    return gate


def name_gate(ask: Ask, name: str, patterns: Iterable[str], setting: str) -> Gate | None:
    """Whether a tool has to be asked for whatever its arguments are."""
    if ask == "never" or (ask == "unless-allowed" and any(fnmatchcase(name, pattern) for pattern in patterns)):
        return None
    why = f"every call of it is asked for (`{setting}`)" if ask == "always" else f"`{setting}` does not list it"
    return lambda _: why


def environment(env: Mapping[str, str], passed: Iterable[str] = ()) -> dict[str, str]:
    """The variables a command is given: all but those that look like secrets, unless they are passed by name."""
    return {
        name: value
        for name, value in env.items()
        if not _secret(name, value) or any(fnmatchcase(name, pattern) for pattern in passed)
    }


def _secret(name: str, value: str) -> bool:
    if name in _HARMLESS:
        return False
    words = re.findall(r"[a-z]+", name.lower())
    return (
        any(word in _SECRET_WORDS or word.endswith(_SECRET_ENDS) for word in words)
        or _INNER_LOGIN.search(value) is not None
    )
