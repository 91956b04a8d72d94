"""The strings that must survive exactly: what an identifier is, where one stands in a text, and what kind it is.

Reading is linear. One pass cuts a text into runs of characters an identifier may have, and only the distinct runs are
looked at more closely, so megabytes of tool output with the same names again and again cost little. A run holds no
quote, bracket, comma or full-width mark, and an ideograph only behind a joint (`/`, `_`, `.`, `=`) or, where a file's
name begins with it, before one: an id between Chinese characters is found, a full stop after a URL is not part of it.
What terminals draw colours with is taken out first. Of more than READ characters the two ends are read.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

from clew.compact.ledger_plain import ends, uncoloured
from clew.transcript import Call, Message, Text, blocks_of

CJK = "\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\U00020000-\U0003347f"
"""Scripts written without blanks: a letter of theirs next to an identifier is its neighbour, not its continuation."""

READ = 1_000_000
"""Characters of one text that are read for names: half from its head, half from its tail."""

_LETTERS = r"A-Za-z0-9_\u00c0-\u02af\u0370-\u1fff"
_MARKS = r".~/:@#%&?=+$*!-"
_RUN = re.compile(
    r"\\[nrt]"  # an escaped line break in quoted text is no letter
    r"|([A-Za-z]:\\[^\s\"'`<>|*?,;()\[\]{}]++"  # a Windows path
    rf"|(?<![{CJK}])[{CJK}]{{1,24}}+(?=[_./-])(?:[{_LETTERS}{_MARKS}]++(?:(?<=[/=.&_-])[{CJK}]++)?+)++"  # 报表_4.csv
    rf"|[{_LETTERS}{_MARKS}]{{3,}}+(?:(?<=[/=.&_-])[{CJK}]++[{_LETTERS}{_MARKS}]*+)*+)"
)
_IDEOGRAPHS = re.compile(rf"[{CJK}]+")
_BEFORE_A_NAME = re.compile(
    r".*(?:打开|查看|请看|看看|编辑|读取|修改|删除|创建|生成|运行|文件|名为|叫做|这个|那个|的|把|了|の|を|は)"
)
"""Words that stand before a file's name in a script without blanks; what is behind them is the name."""
_COMMON = re.compile(r"[a-z]*[.,:;!?]*|[A-Z]?[a-z]+[.,:;!?]*|\d{1,5}[.,:;!?]*|[\W_]+|[A-Z]{1,20}[.,:;!?]*")
_SPLIT = re.compile(r"[=&?!|*$+%,;]+")
_LEFT, _RIGHT = ":%", ".:#/@~-"
_LONGEST = 240
"""Characters; what is longer is data, not a name."""

_EXTENSIONS = """
    bash bat bin c cc cfg cjs clj conf cpp crt cs csproj css csv cts cxx dart db diff dll doc docx ejs elm erl ex exe
    exs fish gif go gql gradle graphql gz h hcl hpp hs htm html ico ini ipynb jar java jl jpeg jpg js json json5 jsonl
    jsx key kt kts less lock log lua md mdx mjs ml mod mp3 mp4 mts nim nix odt parquet patch pdf pem php phtml pl
    plist png po pptx properties proto ps1 psql py pyc pyi pyx rb rds rs rst sass sbt scala scss sh so sol sql sqlite
    sqlite3 srt styl sum svelte svg swift tar tex tf tgz tmpl toml traj ts tsv tsx txt vim vue wasm webp wsdl xls xlsx
    xml xsd yaml yml zig zip zsh"""
_DOMAINS = """
    com org net io dev app ai co edu gov mil info biz de fr es it nl pl se fi dk ch at be cz eu uk us ca au nz jp cn
    kr tw hk br mx ru ua za xyz cloud internal local localdomain lan corp intranet example invalid svc"""


def _any_of(words: str) -> str:
    return "(?:" + "|".join(sorted(words.split(), key=len, reverse=True)) + ")"


_EXT, _TLD = _any_of(_EXTENSIONS), _any_of(_DOMAINS)
_W = rf"[{_LETTERS}{CJK}]"
_SEGMENT = rf"[{_LETTERS}{CJK}.@~#-]+"

KINDS: dict[str, str] = {
    "url": r"[A-Za-z][A-Za-z0-9+.-]*://\S+|[\w.-]+@[\w.-]+:[\w.~-]+/[\w./~-]+",
    "email": rf"[\w.+-]+@(?:[\w-]+\.)+{_TLD}",
    "uuid": r"[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}",
    "ip": r"(?:\d{1,3}\.){3}\d{1,3}(?::\d{1,5}|/\d{1,2})?|(?=.*\d)(?:[0-9a-f]{1,4}:){3,7}:?[0-9a-f]{1,4}",
    "flag": r"--[A-Za-z][\w-]*",
    "version": r"v\d+(?:\.\d+)+(?:[.-][\w.-]+)?|\d+\.\d+\.\d+(?:[.-]?[\w.-]+)?|@?[\w./-]+@v?\d+(?:\.\d+)+[\w.-]*",
    "ticket": r"(?!(?:UTF|ISO|SHA|MD)-)[A-Z][A-Z0-9]{1,9}-\d+|(?:[\w.-]+/[\w.-]+)?#\d{2,}",
    "host": (
        rf"(?![A-Za-z0-9_-]+\.pl$)(?:[A-Za-z0-9_-]+\.)+{_TLD}(?::\d{{1,5}}(?:/\S*)?)?|localhost:\d{{1,5}}(?:/\S*)?"
        r"|[a-z][a-z0-9-]+:\d{4,5}|[a-z0-9-]+(?:\.[a-z0-9-]+)+:\d{2,5}"
    ),
    "pair": r"[A-Za-z]+/[A-Za-z]+",  # origin/main, but also and/or
    "path": (
        rf"[A-Za-z]:\\.+|(?:~|\.\.?)(?:/{_SEGMENT})+"  # C:\x ~/x ./x ../x
        rf"|(?=[\d/.-]*+[^\d/.-])/?[{_LETTERS}{CJK}.@~-]*{_W}(?:/{_SEGMENT})+"  # /usr/bin src/app @scope/package
    ),
    "file": rf"\.?{_W}[{_LETTERS}{CJK}.-]*\.{_EXT}|\.(?:[a-z]+-?)+(?:rc|ignore|env|config)|Makefile|Dockerfile",
    "hash": r"(?:sha\d+:)?(?=[0-9A-Fa-f]*\d)(?=\d*[A-Fa-f])(?:[0-9a-f]{7,128}|[0-9A-F]{7,128})|0x[0-9A-Fa-f]{6,}",
    "id": (
        r"(?=[\w-]*\d{6})[\w-]{6,64}"  # order_987654
        r"|(?=[A-Z]*\d)(?=\d*[A-Z])[A-Z0-9]{5,40}"  # ZFA04Y
        r"|[a-z]{2,10}[_-](?=\w*\d)(?=\w*[A-Z])[A-Za-z0-9_]{6,64}"  # toolu_01FgJ
        r"|(?=[a-z0-9_-]*[A-Z])(?=[A-Z0-9_-]*[a-z])(?=[A-Za-z_-]*\d+[A-Za-z_-]+\d)[\w-]{16,64}"
        r"|[a-z]+(?:_[a-z]+)+_\d{3,}"  # mia_li_3668
    ),
    "env": r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+",
    "symbol": (
        rf"_*[{_LETTERS}]+(?:_[{_LETTERS}]+)+_*"  # snake_case
        r"|_*[a-z][a-z0-9]*(?:[A-Z][A-Za-z0-9]*)+|(?:[A-Z]+[a-z0-9]+){2,}[A-Z]*"  # camelCase, TwoHumps
        r"|[A-Za-z_][\w-]*(?:(?:\.|::|->|#)[A-Za-z_][\w-]+)+"  # package.function, Class::method
    ),
}
"""The kinds in the order they are tried, each with the form a whole name must have."""

STRONG = frozenset(KINDS) - {"env", "symbol", "pair"}
"""The kinds whose loss cannot be made up for by looking around: the audit insists on these."""

_KIND = re.compile("|".join(f"(?P<{name}>{form})" for name, form in KINDS.items()))
_URL = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]{1,20}://|\bgit@).*")
_PLACE = re.compile(rf"(.*\.{_EXT})(?:[:-]\d+\b.*|#.*)|(.*/.*):\d+(?:[:-]\d+)*")
"""A line number behind a file, as compilers and grep write it, is not part of its name."""
_SED = re.compile(r"[sy]([/#,@]).+\1.*\1?[gimpeIM\d]{0,3}")
_SHEBANG = re.compile(r"#!(/[\w./-]*?/(?:env|perl|python[\d.]*|bash|sh|zsh|node|ruby|php))(?=[A-Za-z]|$)")
_OPENERS = frozenset(
    """A About Actually After Again All Also An And Any Are As At Based Be Because Before Both But By Can Could Did Do
    Does Each Either Ensure Even Every Finally First Following For From Given Had Has Have He Hence Here How
    However I If In Instead Into Is It Its Just Last Later Let Lets Like Look Looking Make Many Maybe Might More Most My
    Neither Next No Not Note Nothing Now Of On Once One Only Or Our Perhaps Please Run Second See She Should Similarly
    Since So Some Something Sometimes Still Such Sure That The Their Then There Therefore These They Third This Those
    Though Thus To Try Two Unfortunately Until Use Using Was We Well Were What When Where Whether Which While Who Why
    Will With Without Would Yes Yet You Your""".split()
)
"""Words that open an English sentence: behind a full stop without a blank they are no part of a name."""
_HEX = re.compile(r"(?:0x)?[0-9A-Fa-f-]{7,}")
_ENDING = re.compile(rf"\.{_EXT}$")
_OPTIONS = re.compile(r"(?:^|/)--[a-z]")
_BLOB = re.compile(r"(?=[^A-Z]*[A-Z])(?=[^a-z]*[a-z])(?=\D*\d)[A-Za-z0-9]{24,}")


def find(text: str) -> list[str]:
    """The identifiers of a text, each once, in the order they first stand in it."""
    runs = dict.fromkeys(_RUN.findall(uncoloured(ends(text, READ))))
    return list(dict.fromkeys(name for run in runs if run for name in _names(run)))


@lru_cache(maxsize=1 << 16)
def kind(identifier: str) -> str:
    """What an identifier is: a key of KINDS, or an empty text where it is none."""
    match = _KIND.fullmatch(identifier) if 3 <= len(identifier) <= _LONGEST else None
    return (match.lastgroup or "") if match else ""


def strong(identifier: str) -> bool:
    """Whether the audit insists on it: a name in code can be looked up again, an order number cannot."""
    return kind(identifier) in STRONG


def strings(message: Message) -> Iterator[str]:
    """The texts of a message a name can stand in: words, and every value in a call's arguments; not reasoning."""
    for block in blocks_of(message):
        if isinstance(block, Text):
            yield block.text
        elif isinstance(block, Call):
            yield from ([block.raw] if block.raw is not None else values(block.arguments))


def values(data: Any) -> Iterator[str]:
    """The texts and whole numbers among plain JSON values, however deep."""
    if isinstance(data, str):
        yield data
    elif isinstance(data, int) and not isinstance(data, bool):
        yield str(data)
    elif isinstance(data, dict | list | tuple):
        for item in data.values() if isinstance(data, dict) else data:
            yield from values(item)


def occurs(identifier: str, text: str) -> bool:
    """Whether an identifier stands in a text, whole: 123456 does not occur in 99123456789, nor 1.10 in 1.10.3.

    Hexadecimal names compare without regard to case, all others exactly. A path counts within a longer one (`app/x.py`
    in `/srv/app/x.py`), and an absolute path also where its directory stands by itself and the rest of it elsewhere,
    which is how a brief that states the root once writes it.
    """
    if _HEX.fullmatch(identifier):
        return _stands(identifier.lower(), text.lower())
    return _stands(identifier, text) or (identifier[0] in "/~" and _in_parts(identifier, text))


def missing(identifiers: Iterable[str], text: str) -> list[str]:
    """Those identifiers that do not occur in a text, in their order."""
    lowered = text.lower()
    return [name for name in identifiers if not occurs(name, lowered if _HEX.fullmatch(name) else text)]


_LETTER = re.compile(rf"[{_LETTERS}]")


def _stands(name: str, text: str) -> bool:
    at = text.find(name)
    while at >= 0:
        end = at + len(name)
        if not (_goes_on_before(name, text[max(0, at - 2) : at]) or _goes_on_after(name, text[end : end + 2])):
            return True
        at = text.find(name, at + 1)
    return False


def _goes_on_before(name: str, before: str) -> bool:
    """Whether the text before a name belongs to it: `9` before `12`, `1.` before `10.3`, `dry-` before `run`."""
    if not before or not _LETTER.match(name):
        return False
    if _LETTER.match(before[-1]):
        return True
    joint = before[-1] == "-" or (before[-1] == "." and name[0].isdigit())
    return joint and bool(_LETTER.match(before))


def _goes_on_after(name: str, after: str) -> bool:
    """Whether the text behind a name belongs to it: `.3` behind `1.10`, `.bak` behind `x.py`; not `.b` behind `a_b`."""
    if not after or not _LETTER.match(name[-1]):
        return False
    if _LETTER.match(after):
        return True
    joint = after[0] == "-" or (after[0] == "." and kind(name) not in ("symbol", "env"))
    return joint and bool(_LETTER.match(after[1:]))


def _in_parts(path: str, text: str) -> bool:
    cuts = [at for at, mark in enumerate(path) if mark == "/" and at > 1]
    return any(_stands(path[at + 1 :], text) and _stands(path[:at], text) for at in reversed(cuts))


@lru_cache(maxsize=1 << 16)
def _names(run: str) -> tuple[str, ...]:
    """The identifiers in one run of characters, such as `--output=build/x.js` or `main.go:12:`."""
    if _COMMON.fullmatch(run):
        return ()
    if opening := _IDEOGRAPHS.match(run):
        return _of_ideographs(run, opening.end())
    if len(run) <= _LONGEST and (interpreter := _SHEBANG.search(run)):
        return (*_names(run[: interpreter.start()]), interpreter[1], *_names(run[interpreter.end() :]))
    if len(run) <= _LONGEST * 8 and (url := _URL.search(run)):
        return (*_names(run[: url.start()]), url.group().rstrip(_RIGHT + "?&=!,;*$+%"))
    return tuple(name for piece in _SPLIT.split(run) if len(piece) <= _LONGEST for name in _of_piece(piece))


def _of_ideographs(run: str, opening: int) -> tuple[str, ...]:
    """A file whose name begins with ideographs, whole; before anything else they are neighbours."""
    name = _BEFORE_A_NAME.sub("", run[:opening]) + run[opening:]
    if kind(name) in ("file", "path") and _ENDING.search(name):
        return (name,)
    return _names(run[opening:])


def _of_piece(piece: str) -> Iterator[str]:
    name = piece.lstrip(_LEFT).rstrip(_RIGHT)
    if _SED.fullmatch(piece) or (piece[:2] in ("s/", "y/") and not _ENDING.search(name)):
        return
    if name.startswith("-") and not name.startswith("--"):
        name = name.lstrip("-")
    if place := _PLACE.fullmatch(name):
        name = place[1] or place[2]
    found = kind(name)
    if found == "symbol" and (glued := _glued(name)):
        for part in glued:
            yield from _of_piece(part)
    elif found == "path" and "--" in name and _OPTIONS.search(name):
        for part in name.split("/"):
            yield from _of_piece(part)
    elif found and not (found in ("path", "pair") and _BLOB.search(name)):
        yield name
    elif ":" in name.strip(":"):
        for part in name.split(":"):
            yield from _of_piece(part)


def _glued(name: str) -> list[str]:
    """The parts of `here.Let` or `foo_bar.The`, where a full stop lost its blank; nothing for a true name."""
    parts = name.split(".")
    return parts if any(part in _OPENERS for part in parts[1:]) else []
