"""What a shell command did to files, as far as its words tell: a modest reading, never an interpreter."""

import posixpath
import re
from collections.abc import Callable, Iterator

Step = tuple[str, str]
"""An effect (`read`, `edited`, `created`, `deleted`) and the path it fell on."""

_HERE = re.compile(r"<<-?\s*['\"]?(\w+)['\"]?([^\n]*)\n.*?^\s*\1\b", re.DOTALL | re.MULTILINE)
_TOKEN = re.compile(
    r"(?P<out>[0-9&]?>>?)(?!&)|(?P<word>(?:[^\s'\"|&;<>()\\#]|(?<=\S)#|\\.|'[^']*'|\"(?:[^\"\\]|\\.)*\")+)"
    r"|(?P<joint>\|\||&&|[|&;()\n])|(?P<note>\#[^\n]*)|\s|.",
    re.DOTALL,
)
_QUOTES = re.compile(r"'([^']*)'|\"((?:[^\"\\]|\\.)*)\"|\\(.)", re.DOTALL)
_PATHLIKE = re.compile(r"[^\s*?$`'\"\[\]{}|;:<>()!]*[\w~/][^\s*?$`'\"\[\]{}|;:<>()!]*")
_SCRIPT = re.compile(r"[sy]([/|#,@]).*\1[gimpeIM\d]*|[\d,$]+[acdip]?|/.*/[acdip]?", re.DOTALL)
_LONGEST = 20_000
"""Characters of a command that are read; the rest is a script's body, not its effects."""


def steps(command: str) -> list[Step]:
    """The files a command read, edited, created or deleted, in its order. Here-documents are not looked into.

    Paths behind a `cd` of the same command are written from where it led, unless that cannot be told.
    """
    place, found = "", []  # type: str, list[Step]
    for words, written in _parts(_HERE.sub(r"\2\n", command[:_LONGEST])):
        if words[:1] == ["cd"]:
            place = _joined(place, words[1]) if len(words) == 2 and _is_path(words[1]) else ""
            continue
        named = [*(("created", path) for path in written if not path.startswith("/dev/")), *_of_part(words)]
        found += [(effect, _joined(place, path)) for effect, path in named if _is_path(path)]
    return found


def _parts(command: str) -> Iterator[tuple[list[str], list[str]]]:
    """The simple commands of a line: their words, and the files their output is sent to."""
    words, written, sent = [], [], ""  # type: list[str], list[str], str
    for token in _TOKEN.finditer(f"{command}\n"):
        if token["joint"]:
            if words or written:
                yield words, written
            words, written, sent = [], [], ""
        elif token["out"]:
            sent = token["out"]
        elif token["word"]:
            word = _QUOTES.sub(lambda quote: quote[1] or quote[2] or quote[3] or "", token["word"])
            if not sent:
                words.append(word)
            elif sent[0] != "2":
                written.append(word)
            sent = ""


def _is_path(word: str) -> bool:
    return bool(_PATHLIKE.fullmatch(word)) and word.strip("./") != ""


def _joined(place: str, path: str) -> str:
    if not place or path.startswith(("/", "~")):
        return path
    return posixpath.normpath(posixpath.join(place, path))


def _of_part(words: list[str]) -> Iterator[Step]:
    while words and (words[0] in _BEFORE or "=" in words[0]):
        words = words[1:]
    if not words:
        return
    name = words[0].rsplit("/", 1)[-1]
    verb = f"git {words[1]}" if name == "git" and len(words) > 1 else name
    if reading := VERBS.get(verb):
        rest = words[2:] if verb.startswith("git ") else words[1:]
        options = [word for word in rest if word.startswith("-")]
        yield from reading([word for word in rest if word and not word.startswith("-")], options)


_BEFORE = frozenset({"sudo", "env", "time", "command", "exec", "then", "do", "else", "if", "!", "{"})


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
    into = new.endswith("/") or new in (".", "..") or len(old) > 1
    return [posixpath.join(new, posixpath.basename(path.rstrip("/"))) for path in old] if into else [new]


def _sed(paths: list[str], options: list[str]) -> list[Step]:
    inplace = any(option.startswith(("-i", "--in-place")) for option in options)
    files = [path for path in paths if ("/" in path or "." in path) and not _SCRIPT.fullmatch(path)]
    return [("edited" if inplace else "read", path) for path in files]


VERBS: dict[str, Callable[[list[str], list[str]], list[Step]]] = {
    "cat": _read, "head": _read, "tail": _read, "less": _read, "bat": _read, "nl": _read, "wc": _read,
    "rm": _each("deleted"), "unlink": _each("deleted"), "git rm": _each("deleted"),
    "touch": _each("created"), "tee": _each("created"),
    "mv": _move, "git mv": _move, "cp": _copy,
    "sed": _sed, "perl": _sed,
    "git restore": _each("edited"), "truncate": _each("edited"),
}  # fmt: skip
"""What each program does with the paths it is given."""
