"""A gateway over sessions worth looking at, and a real browser in front of it."""

import asyncio
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from clew.app import Clew
from clew.demo import session_path
from clew.demo.drafts import DRAFTS, PREFIX
from clew.models.scripted import ScriptedModel
from clew.store.port import Draft
from clew.store.sqlite import SqliteStore
from clew.transcript import Call, Compaction, Ledger, Line, PruneMark, Verdict, assistant, result, user

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")

FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
]  # fmt: skip

HOSTILE = (
    "<script>window.__pwned = 1</script><img src=x onerror='window.__pwned = 2'><b onclick=alert(1)>bold</b> "
    "\x1b[31mred\x1b[0m \x1b]8;;http://evil.example\x07link \u202egnp.exe\u202c [a](javascript:alert(2)) \U000e0041 end"
)

WRITER = "scripted/demo"


def furnish(path: Path) -> None:
    """The demo's session, compacted twice with one taken back, and others: hostile, long and pruned, empty."""
    model = ScriptedModel((PREFIX, *DRAFTS), name=WRITER, window=200_000)
    with Clew(SqliteStore(path), models={WRITER: model}, env={"CLEW_HOME": str(path.parent)}) as clew:
        clew.bring(session_path(), key="demo")
        asyncio.run(clew.compact("demo", model=WRITER, window=200_000))
        hostile = clew.create("agent:main:hostile", title=f"Hostile {HOSTILE}")
        call = Call("c1", "Read<i>\x1b[2J", {"path": HOSTILE})
        hostile.append(user(HOSTILE), assistant(HOSTILE, call), result(call, HOSTILE * 40), assistant(HOSTILE))
        _long(clew)
        _imported(clew)
        clew.create("agent:main:empty", title="空的 🫙")


def _long(clew: Clew) -> None:
    session = clew.create("agent:main:nightly", title="Nightly import")
    results = []
    for nth in range(90):
        call = Call(f"c{nth}", "bash", {"command": f"make import-{nth}"})
        records = session.append(
            user(f"import batch {nth}"), assistant("", call), result(call, f"row of {nth} is in\n" * 30),
            assistant(f"Batch {nth} is in."),
        )  # fmt: skip
        results.append(records[2].entry.id)
    session.mark(PruneMark("anthropic", dict.fromkeys(results[:40], "clear")))
    session.append(user("and the last one"), assistant("It is in."))


def _imported(clew: Clew) -> None:
    """A brief that nobody audited, with a line that nothing supports."""
    session = clew.create("agent:main:imported")
    (said,) = session.append(user("Use port 8443."))
    body = Compaction(
        summary="## Decisions\n- the port is 8443\n- nobody ever said this", first_kept=None, tokens_before=0,
        tokens_after=0, trigger="manual", verdict=Verdict("imported"), ledger=Ledger(),
        lines=(Line(2, (said.entry.id,)), Line(3)),
    )  # fmt: skip
    clew.store.commit(
        session.key, Draft("b1", 1, body), generation=0, boundary="b1", start=None, event="compaction", data={}
    )


@contextmanager
def browser(folder: Path) -> Iterator[Any]:
    """A Chromium that can reach this machine and nothing else, with a profile of its own."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            folder, executable_path=CHROMIUM, headless=True, args=FLAGS, viewport={"width": 1280, "height": 860}
        )
        context.set_default_timeout(15_000)
        try:
            yield context
        finally:
            context.close()


class Watch:
    """What a page did that nobody would see: requests, dialogs, errors."""

    def __init__(self, page: Any) -> None:
        self.requests: list[str] = []
        self.dialogs: list[str] = []
        self.errors: list[str] = []
        page.on("request", lambda one: self.requests.append(one.url))
        page.on("dialog", self._dialog)
        page.on("pageerror", lambda one: self.errors.append(str(one)))
        page.on("console", lambda one: self.errors.append(one.text) if one.type == "error" else None)

    def _dialog(self, one: Any) -> None:
        self.dialogs.append(one.message)
        one.dismiss()

    @property
    def faults(self) -> list[str]:
        """Errors that are none of the gateway's refusals, which the page tells in words."""
        return [one for one in self.errors if "Failed to load resource" not in one and "ERR_CONN" not in one]


def look(page: Any, key: str, tab: str) -> None:
    """Look at a session, as a link or the way back would."""
    page.evaluate("hash => { location.hash = hash }", f"s={quote(key)}&t={tab}")
    page.locator(f"#panel-{tab}:visible > *").first.wait_for()


CONTRASTS = """() => {
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const rgb = (colour) => {
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const light = (c) => c.slice(0, 3).map((v) => v / 255)
    .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, nth) => sum + v * [0.2126, 0.7152, 0.0722][nth], 0);
  const ground = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const colour = rgb(getComputedStyle(at).backgroundColor);
      if (colour[3] === 255) return colour;
    }
    return [255, 255, 255];
  };
  const poor = [];
  for (const node of document.querySelectorAll('body *')) {
    const words = [...node.childNodes].some((one) => one.nodeType === 3 && one.data.trim());
    if (!words || node.closest('svg, :disabled, .pending') || !node.checkVisibility()) continue;
    const [one, other] = [light(rgb(getComputedStyle(node).color)), light(ground(node))].sort((a, b) => b - a);
    const ratio = (one + 0.05) / (other + 0.05);
    if (ratio < 4.5) poor.push(`${node.className || node.tagName} ${ratio.toFixed(2)} ${node.textContent.slice(0, 9)}`);
  }
  return poor;
}"""
"""Texts whose contrast with what is behind them is below 4.5 to 1 (WCAG 2, AA)."""
