"""Texts of each kind that fills an agent's window, for the bench of sizes: half to fit on, half to be judged by."""

import ast
import base64
import json
import random
import sysconfig
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
STDLIB = Path(sysconfig.get_path("stdlib"))
SMALL = "abcdefghijklmnopqrstuvwxyz"
BASE32 = SMALL.upper() + "234567"
EMOJI = (
    "😀 😂 🎉 ✅ ❌ 🚀 🔥 👍 💡 📝 🐛 ✨ ⚠️ 🔧 📦 🤖 👀 💯 🙏 😅 ❤️ 🧪 🛠️ 📊 🔍 ⏳ ☕ 😎 🥳 🤔 🌍 🌱 🐍 🦀 🐳 🎯 📈 📉 🔒 "
    "🔑 🧵 🪄 🏳️\u200d🌈 👩\u200d💻 👍🏽 🇩🇪 🇯🇵 🌮 🎈 🏗️ 🐢 🗂️ 🧹 🚨 🕐 💥 🎨 🥇 🦊 🍎 🌙 ⭐ 🔔 📅 🗑️ 🧩 🛑 ➡️ 🔗 💾"
).split()
PHRASES = (
    "shipped the new build",
    "tests pass again",
    "please have a look",
    "works on my machine",
    "nice catch",
    "done",
)


def kinds(seed: int = 7) -> dict[str, list[str]]:
    """Documents by kind; the same for the same seed and the same Python."""
    chance = random.Random(seed)
    return {
        "english": [*_paragraphs("english"), *_docstrings()],
        "chinese": _paragraphs("chinese"),
        "japanese": _paragraphs("japanese"),
        "korean": _paragraphs("korean"),
        "cyrillic": _paragraphs("cyrillic"),
        "arabic": _paragraphs("arabic"),
        "cjk and code": _mixed(),
        "python": [*_modules(), *_own()],
        "json": [_records(chance, indent) for indent in (None, 2) * 12],
        "base64": [_base64(chance, size) for size in (90, 900, 3000) * 8],
        "hex": [_hex(chance, style) for style in ("run", "list", "dump", "uuid", "upper") * 6],
        "letters": [_letters(chance, alphabet) for alphabet in ("ACGT", "acgt", SMALL, SMALL.upper(), BASE32) * 4],
        "emoji": [_emoji(chance, dense) for dense in (True, False) * 8],
        "logs": [_logs(chance) for _ in range(16)],
        "urls and paths": [_places(chance) for _ in range(16)],
    }


def _paragraphs(name: str) -> list[str]:
    return (HERE / "texts" / f"{name}.txt").read_text(encoding="utf-8").split("\n\n")


def _modules() -> list[str]:
    return [path.read_text(encoding="utf-8", errors="replace") for path in sorted(STDLIB.glob("*.py"))]


def _own() -> list[str]:
    return [path.read_text(encoding="utf-8") for path in sorted((HERE.parent / "src").rglob("*.py"))]


def _docstrings() -> list[str]:
    """The documentation of every third module of the standard library, each joined to one text."""
    found = ("\n\n".join(_documented(ast.parse(source))) for source in _modules()[::3])
    return [text for text in found if len(text) > 1_500]


def _documented(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and (text := ast.get_docstring(node)):
            yield text


def _mixed() -> list[str]:
    """A paragraph, then a piece of code, as an answer in a coding session has them."""
    words = [text for name in ("chinese", "japanese", "korean") for text in _paragraphs(name)]
    code = [text[1_000:1_400] for text in _modules() if len(text) > 2_000]
    return [f"{said}\n\n```python\n{piece}\n```\n" for said, piece in zip(words, code, strict=False)]


def _records(chance: random.Random, indent: int | None) -> str:
    names = (
        "order_id",
        "customer",
        "status",
        "created_at",
        "total",
        "items",
        "notes",
        "shipping",
        "currency",
        "retries",
    )
    rows = [
        {
            **{name: _value(chance) for name in chance.sample(names, 6)},
            "user": {
                "id": chance.randrange(10**6),
                "email": f"user{chance.randrange(999)}@example.com",
                "active": True,
            },
            "tags": chance.sample(["prod", "beta", "eu-west-1", "retry", "manual"], 2),
        }
        for _ in range(20)
    ]
    return json.dumps(rows, indent=indent)


def _value(chance: random.Random) -> object:
    return chance.choice([
        chance.randrange(10**5), round(chance.uniform(0, 500), 2), None, False, "pending review",
        f"2026-0{chance.randint(1, 9)}-1{chance.randint(0, 9)}T08:{chance.randint(10, 59)}:00Z",
        "Left at the front desk; call before delivery.", chance.randbytes(6).hex(), "/srv/data/orders/2026",
    ])  # fmt: skip


def _base64(chance: random.Random, size: int) -> str:
    """Random bytes and encoded source, bare, in lines, and as the address of an image."""
    source = chance.choice(_own()).encode()[:size]
    style = chance.randrange(4)
    if style == 0:
        return "data:image/png;base64," + base64.b64encode(chance.randbytes(size)).decode()
    if style == 1:
        return base64.encodebytes(chance.randbytes(size)).decode()
    return base64.b64encode(chance.randbytes(size) if style == 2 else source).decode()


def _hex(chance: random.Random, style: str) -> str:
    if style == "run":
        return chance.randbytes(900).hex()
    if style == "upper":
        return chance.randbytes(300).hex(":", chance.choice([1, 4, 32, 300])).upper()
    if style == "list":
        return "\n".join(f"{chance.randbytes(20).hex()}  {_path(chance)}" for _ in range(30))
    if style == "dump":
        return "\n".join(f"{row * 16:08x}: {chance.randbytes(16).hex(' ', 2)}" for row in range(40))
    digits = (chance.randbytes(16).hex() for _ in range(40))
    return "\n".join(f"{one[:8]}-{one[8:12]}-{one[12:16]}-{one[16:20]}-{one[20:]}" for one in digits)


def _letters(chance: random.Random, alphabet: str) -> str:
    """Letters without words: genes, keys, ciphers; in lines of some length."""
    return "\n".join("".join(chance.choices(alphabet, k=chance.randint(40, 200))) for _ in range(12))


def _emoji(chance: random.Random, dense: bool) -> str:
    if dense:
        return "".join(chance.choice(EMOJI) + chance.choice(["", "", " "]) for _ in range(300))
    return "\n".join(f"{chance.choice(PHRASES)} {''.join(chance.choices(EMOJI, k=3))}" for _ in range(40))


def _logs(chance: random.Random) -> str:
    return "\n".join(
        f"2026-0{chance.randint(1, 9)}-{chance.randint(10, 28)}T{chance.randint(10, 23)}:{chance.randint(10, 59)}:"
        f"{chance.randint(10, 59)}.{chance.randint(100, 999)}Z {chance.choice(['INFO', 'DEBUG', 'WARN', 'ERROR'])} "
        f"[{chance.choice(['http.server', 'db.pool', 'worker.queue', 'scheduler'])}] "
        f"{chance.choice(['request completed', 'connection opened', 'retrying after timeout', 'cache miss'])} "
        f"id={chance.randbytes(6).hex()} dur={chance.randrange(9_000)}ms "
        f"path=/api/v1/orders/{chance.randrange(99_999)} "
        f"ip=10.{chance.randrange(255)}.{chance.randrange(255)}.{chance.randrange(255)}"
        for _ in range(50)
    )


def _places(chance: random.Random) -> str:
    return "\n".join(chance.choice([_path, _url])(chance) for _ in range(60))


def _path(chance: random.Random) -> str:
    module = chance.choice(PATHS)
    return chance.choice(["/usr/lib/python3/", "/home/user/project/", "./", "src/"]) + module


def _url(chance: random.Random) -> str:
    host = chance.choice(["github.com", "docs.python.org", "pypi.org", "api.example.com:8443", "en.wikipedia.org"])
    query = f"?page={chance.randrange(90)}&sort=updated_at" if chance.random() < 0.3 else ""
    return f"https://{host}/{chance.choice(PATHS).removesuffix('.py')}{query}"


PATHS = [str(path.relative_to(STDLIB)) for path in sorted(STDLIB.glob("*/*.py")) if "site-packages" not in str(path)]
"""Real relative paths: the packages of the standard library."""
