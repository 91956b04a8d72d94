"""What it costs to find something again in a long session: searches of every kind, the index, and appends beside it.

    python -m bench.search [--entries 100000] [--json]

The session is made up with a fixed seed: English, Chinese, code, calls and tool results of about 400 characters, in
which common words are as common as in speech. A search counts from the call to the decoded entries; the index is there
already, but for the first line. An append is one entry and durable; it goes in turn to a store that was never searched
and to one that is searched after every 20 appends, outside of the count.
"""

import argparse
import json
import random
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from bench.store import timed
from clew.recall.query import parse
from clew.store.port import Draft, Search
from clew.store.sqlite import SqliteStore
from clew.testing.scene import KEY
from clew.transcript import Call, Message, Said, assistant, result, user

ROUNDS = 25
APPENDS = 400
BATCH = 1000
LENGTH = 400
"""Characters of a message, about."""

ENGLISH = (
    "the of to and in is it that for on with as this be are not we have can you file test error server request query "
    "cache token budget session retry timeout config value branch release migration schema deploy queue worker client "
    "upload invoice customer payment address region metric alert dashboard handler parser buffer socket thread lock"
).split()
CHINESE = (
    "的 了 是 在 我们 这个 可以 没有 问题 数据 数据库 迁移 失败 测试 文件 修改 请求 超时 缓存 服务 部署 分支 版本 用户 "
    "配置 接口 日志 错误 重试 队列 订单 支付 地址 监控 告警 发布 回滚 索引 查询 会话 预算"
).split()
CODE = (
    "def return self None import async await class raise for in if not parseConfig retryBudget user_id load_session "
    "SessionStore fetchRows MAX_RETRIES src/app/login.py src/db/pool.py tests/test_pool.py config.yaml --verbose"
).split()


def main() -> None:
    """Build the session, time it, print a table or JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--entries", type=int, default=100_000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with TemporaryDirectory() as folder:
        report = measured(Path(folder) / "store.db", options.entries)
    print(json.dumps(report) if options.json else table(report))


def measured(path: Path, size: int) -> dict[str, object]:
    """The figures of one session."""
    with SqliteStore(path) as store:
        store.create(KEY, at=0)
        for first in range(0, size, BATCH):
            last = min(first + BATCH, size)
            store.append(KEY, [Draft(f"e{n}", n * 60_000, Said(message(n))) for n in range(first, last)])
    bytes_before = bytes_of(path)
    shutil.copy(path, path.with_name("plain.db"))
    with SqliteStore(path) as store, SqliteStore(path.with_name("plain.db")) as plain:
        index = timed(lambda: store.search(KEY, Search((("warm",),))))
        searches = {name: row(store, wanted) for name, wanted in kinds(size)}
        return {
            "entries": size,
            "index_s": round(index, 1),
            "store_mb": round(bytes_before / 1e6, 1),
            "with_index_mb": round(bytes_of(path) / 1e6, 1),
            "append_us": appends({"without index": plain, "with index": store}),
            "searches": searches,
        }


def kinds(size: int) -> Iterator[tuple[str, Search]]:
    """The searches that are timed."""
    middle = {"since": size * 30_000, "until": size * 40_000}
    yield "rare word", wanted("zanzibar")
    yield "common word", wanted("the")
    yield "code identifier", wanted("retryBudget")
    yield "rare identifier", wanted("AUTH-00731")
    yield "path", wanted("src/app/login.py")
    yield "Chinese, two characters", wanted("迁移")
    yield "Chinese, very common", wanted("的")
    yield "phrase", wanted('"session retry"')
    yield "phrase of common words", wanted('"of the"')
    yield "two words", wanted("zanzibar migration")
    yield "two common words", wanted("the of")
    yield "two words, both", wanted("the migration", every=True)
    yield "role and time", wanted("error", roles=("tool",), **middle)
    yield "common word, role, time", wanted("the", roles=("user",), **middle)
    yield "common word, short time", wanted("the", since=size * 30_000, until=size * 30_000 + 3_600_000)
    yield "common word, nothing fits", wanted("the", roles=("tool",), before=3)
    yield "exclusion", wanted("migration -the -of -的")
    yield (
        "a whole sentence",
        wanted("why did the migration of the invoice queue fail in the release branch 数据库迁移失败"),
    )


def wanted(words: str, every: bool = False, **more: object) -> Search:
    """A search for words."""
    query = parse(words, every=every)
    return Search(query.phrases, query.every, query.without, **more)  # type: ignore[arg-type]


def row(store: SqliteStore, search: Search) -> dict[str, float]:
    """One kind of search: milliseconds, and how many were found."""
    found = len(store.search(KEY, search))
    times = [timed(lambda: store.search(KEY, search)) * 1000 for _ in range(ROUNDS)]
    return {"median_ms": round(median(times), 2), "worst_ms": round(max(times), 2), "found": found}


def message(number: int) -> Message:
    """The message with a number, always the same one."""
    chance = random.Random(number)
    kind = number % 10
    if kind in (0, 5):
        return user(text(chance, CHINESE, "") if kind else text(chance, ENGLISH, " "))
    if kind in (1, 6):
        return assistant(text(chance, CHINESE, "") if kind == 1 else text(chance, ENGLISH, " "))
    call = Call(f"c{number}", "Bash", {"command": text(chance, CODE, " ", 80)})
    if kind in (2, 4, 8):
        return assistant("", call)
    return result(call, text(chance, [*CODE, *ENGLISH[:40]], " ") + marked(number))


def text(chance: random.Random, words: list[str], gap: str, length: int = LENGTH) -> str:
    """Words, those in front more often, as in speech; now and then a number nobody else has."""
    weights = [1 / (rank + 2) for rank in range(len(words))]
    listed = chance.choices(words, weights, k=max(1, length // (sum(map(len, words)) // len(words) + len(gap))))
    return gap.join([*listed, f" {chance.getrandbits(32):08x}"])


def marked(number: int) -> str:
    """What only a few messages hold."""
    return f" AUTH-{number // 100:05d}" + (" zanzibar" if number % 9_999 == 3 else "")


def appends(stores: dict[str, SqliteStore]) -> dict[str, dict[str, float]]:
    """Durable single appends to each store in turn, in microseconds: the disk has moods, and both shall meet them."""
    times: dict[str, list[float]] = {name: [] for name in stores}
    for number in range(APPENDS):
        draft = Draft(f"single{number}", 0, Said(message(number)))
        for name, store in stores.items():
            times[name].append(timed(partial(store.append, KEY, [draft])) * 1e6)
        if number % 20 == 0:
            stores["with index"].search(KEY, Search((("needle",),)))
    return {name: {"median": round(median(taken)), "worst": round(max(taken))} for name, taken in times.items()}


def bytes_of(path: Path) -> int:
    """The file and its log."""
    return sum(file.stat().st_size for file in path.parent.glob(f"{path.name}*"))


def table(report: dict) -> str:  # type: ignore[type-arg]
    """The figures for a reader."""
    head = (
        f"{report['entries']:,} entries, {report['store_mb']} MB; with the index {report['with_index_mb']} MB, "
        f"made once in {report['index_s']} s"
    )
    lines = [f"{'':28}{'median ms':>10}{'worst ms':>10}{'found':>7}"]
    lines += [
        f"{name:28}{row['median_ms']:10.2f}{row['worst_ms']:10.2f}{row['found']:7}"
        for name, row in report["searches"].items()
    ]
    costs = ", ".join(
        f"{name} {cost['median']} µs (worst {cost['worst']})" for name, cost in report["append_us"].items()
    )
    return "\n".join([head, *lines, f"An append: {costs}"])


if __name__ == "__main__":
    main()
