"""What a shell command did to files, as far as its words tell: a modest reading, never an interpreter."""

import re
import shlex
from collections.abc import Callable, Iterator

Step = tuple[str, str]
"""An effect (`read`, `edited`, `created`, `deleted`) and the path it fell on."""

_JOINTS = re.compile(r"\s*(?:&&|\|\||;|\||\n)\s*")
_REDIRECT = re.compile(r"(?<![0-9&<])>>?\s*([^\s&|;<>()'\"]+)")
_HERE = re.compile(r"<<-?\s*['\"]?(\w+)['\"]?([^\n]*)\n.*?^\s*\1\b", re.DOTALL | re.MULTILINE)
_SCRIPT = re.compile(r"[sy]([/|#,@]).*\1")
_PATHLIKE = re.compile(r"[\w.~/@+-]*[\w~/]\.?[\w.~/@+-]*")
_LONGEST = 20_000
"""Characters of a command that are read; the rest is a script's body, not its effects."""


def steps(command: str) -> list[Step]:
    """The files a command read, edited, created or deleted, in its order. Here-documents are not looked into."""
    bare = _HERE.sub(r"\2\n", command[:_LONGEST])
    found = [("created", target) for target in _REDIRECT.findall(bare) if not target.startswith("/dev/")]
    for part in _JOINTS.split(_REDIRECT.sub(" ", bare)):
        found.extend(_of_part(_words(part)))
    return found


def _words(part: str) -> list[str]:
    try:
        return shlex.split(part)
    except ValueError:
        return part.split()


def _of_part(words: list[str]) -> Iterator[Step]:
    while words and (words[0] in ("sudo", "env", "time", "command", "exec", "then", "do") or "=" in words[0]):
        words = words[1:]
    if not words:
        return
    name = words[0].rsplit("/", 1)[-1]
    verb = f"git {words[1]}" if name == "git" and len(words) > 1 else name
    if reading := VERBS.get(verb):
        rest = words[2:] if verb.startswith("git ") else words[1:]
        options = [word for word in rest if word.startswith("-")]
        yield from reading([word for word in rest if not word.startswith("-") and _PATHLIKE.fullmatch(word)], options)


def _each(effect: str) -> Callable[[list[str], list[str]], list[Step]]:
    return lambda paths, _: [(effect, path) for path in paths]


def _read(paths: list[str], _: list[str]) -> list[Step]:
    return [("read", path) for path in paths if "/" in path or "." in path]


def _move(paths: list[str], _: list[str]) -> list[Step]:
    if len(paths) < 2:
        return []
    *old, new = paths
    return [*(("deleted", path) for path in old), *(("created", at) for at in _landing(old, new))]


def _copy(paths: list[str], _: list[str]) -> list[Step]:
    return [("created", at) for at in _landing(paths[:-1], paths[-1])] if len(paths) > 1 else []


def _landing(old: list[str], new: str) -> list[str]:
    into = new.endswith("/") or len(old) > 1
    return [f"{new.rstrip('/')}/{path.rstrip('/').rsplit('/', 1)[-1]}" for path in old] if into else [new]


def _sed(paths: list[str], options: list[str]) -> list[Step]:
    inplace = any(option.startswith(("-i", "--in-place")) for option in options)
    files = [path for path in paths if ("/" in path or "." in path) and not _SCRIPT.match(path)]
    return [("edited" if inplace else "read", path) for path in files]


VERBS: dict[str, Callable[[list[str], list[str]], list[Step]]] = {
    "cat": _read, "head": _read, "tail": _read, "less": _read, "bat": _read, "nl": _read, "wc": _read,
    "rm": _each("deleted"), "unlink": _each("deleted"), "rmdir": _each("deleted"), "git rm": _each("deleted"),
    "touch": _each("created"), "mkdir": lambda paths, options: [], "tee": _each("created"),
    "mv": _move, "git mv": _move, "cp": _copy,
    "sed": _sed, "perl": _sed,
    "git restore": _each("edited"), "truncate": _each("edited"),
}  # fmt: skip
"""What each program does with the paths it is given."""
