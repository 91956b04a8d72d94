"""The page at `/`, in a real browser: Debian's Chromium."""

import re
from itertools import count

import pytest

from clew.store.sqlite import SqliteStore
from clew.testing.server import ModelServer, Say
from tests.faces.browsing import CHROMIUM, CONTRASTS, HOSTILE, Watch, browser, furnish, look
from tests.flow.gateway_process import TOKEN, Gateway

expect = pytest.importorskip("playwright.sync_api", reason="there is no playwright here: pip install playwright").expect
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium here: apt-get install chromium")

TABS = ("window", "timeline", "brief", "talk")


@pytest.fixture(scope="module")
def model():
    """Answers in pieces, and writes briefs that no audit lets pass, so that rules write them."""
    turns = count(1)
    with ModelServer(lambda seen: Say(f"Answer {next(turns)}: all of it is in. " * 12, pace_s=0.08)) as server:
        yield server


@pytest.fixture(scope="module")
def gateway(tmp_path_factory, model):
    folder = tmp_path_factory.mktemp("home")
    folder.mkdir(exist_ok=True)
    furnish(folder / "clew.sqlite")
    with Gateway(folder, model, window=200_000) as running:
        yield running


@pytest.fixture(scope="module")
def chromium(tmp_path_factory, gateway):
    with browser(tmp_path_factory.mktemp("profile")) as context:
        yield context


@pytest.fixture
def page(chromium, gateway):
    """The page, logged in by the link that the gateway prints. Nothing may leave the machine, whatever a test does."""
    fresh = chromium.new_page()
    watch = fresh.watch = Watch(fresh)
    fresh.goto(f"{gateway.url}/#token={TOKEN}")
    fresh.locator("#session-list a").first.wait_for()
    yield fresh
    assert [url for url in watch.requests if not url.startswith(gateway.url)] == []
    assert watch.faults == []
    assert watch.dialogs == []
    fresh.close()


def lines(page, selector):
    return page.locator(selector).all_inner_texts()


# The way in -----------------------------------------------------------------------------------------------------------


def test_the_link_logs_in_and_its_token_leaves_the_address(page, chromium, gateway):
    assert page.url == f"{gateway.url}/"
    (cookie,) = chromium.cookies()
    assert (cookie["httpOnly"], cookie["sameSite"], cookie["expires"]) == (True, "Strict", -1)
    assert TOKEN not in cookie["value"]
    assert page.evaluate("history.length") <= 2


def test_a_wrong_token_is_refused_in_a_sentence_and_the_right_one_opens(page, gateway):
    page.locator("#logout").click()
    page.locator("#token").fill("not-the-token-at-all")
    page.keyboard.press("Enter")
    page.get_by_text("That is not this gateway's token.").wait_for()
    assert not page.locator("#app").is_visible()
    page.locator("#token").fill(TOKEN)
    page.keyboard.press("Enter")
    page.locator("#session-list a").first.wait_for()


def test_files_are_served_and_nothing_beside_them(gateway):
    client = gateway.client()
    heads = client.get("/static/page.js").headers
    assert heads["content-type"].startswith("text/javascript")
    assert "script-src 'self'" in heads["content-security-policy"]
    assert [client.get(f"/static/{name}").status_code for name in ("..%2fdoor.py", "none.js", "%2e%2e/door.py")] == [
        404, 404, 404,
    ]  # fmt: skip


# The list and the window ----------------------------------------------------------------------------------------------


def test_sessions_are_listed_with_fill_and_compactions_and_found_by_name(page):
    words = next(one for one in lines(page, "#session-list a") if one.startswith("demo"))
    assert re.search(r"1\d % of 200k · 1 compaction", words)
    page.locator("#find").fill("NIGHTLY")
    expect(page.locator("#session-list a")).to_have_count(1)
    assert "Nightly import" in lines(page, "#session-list a")[0]
    page.locator("#find").fill("no such name")
    page.get_by_text("No session's key or title holds").wait_for()


def test_a_piece_of_the_map_opens_the_entry_behind_it(page):
    look(page, "demo", "window")
    piece = page.locator(".piece[data-name*='#395']")
    assert "10,007 tokens" in piece.get_attribute("aria-label")
    piece.click()
    page.locator(".entry pre").wait_for()
    assert "#395 · result of Bash" in page.locator(".entry h3").inner_text()
    assert "webhook.later" in page.locator(".entry pre").inner_text()
    page.get_by_role("button", name="Show all").click()
    expect(page.locator(".entry pre")).to_have_text(re.compile(r"[^\0]{20000}"))


def test_the_map_is_a_table_too(page):
    look(page, "demo", "window")
    page.get_by_text("The same as a table").click()
    rows = lines(page, "table tbody tr")
    assert any(row.startswith("tool results") for row in rows)
    assert any(row.startswith("brief") for row in rows)
    page.locator("table").get_by_role("button", name="#395").click()
    page.locator(".entry h3", has_text="#395").wait_for()


# The past and the brief -----------------------------------------------------------------------------------------------


def test_the_timeline_tells_turns_prunes_and_compactions_newest_first_in_pages(page):
    look(page, "demo", "timeline")
    assert "150,885 → 24,783 tokens" in lines(page, ".item.compaction")[0]
    assert "The brief passed on attempt 2" in lines(page, ".item.compaction")[0]
    look(page, "agent:main:nightly", "timeline")
    page.locator(".item.prune").wait_for()
    assert re.search(r"40 results shown as one line", lines(page, ".item.prune")[0])
    before = page.locator(".item").count()
    page.get_by_role("button", name="Show older").click()
    expect(page.locator(".item")).to_have_count(before * 2)
    page.locator(".item.turn .item-open").nth(1).click()
    page.locator(".entry-line", has_text="result of bash").wait_for()


def test_each_line_of_a_brief_leads_to_its_sources_word_for_word(page):
    look(page, "demo", "brief")
    line = page.locator(".brief-line", has_text="The webhook timeout").first
    line.focus()
    page.keyboard.press("Enter")
    page.locator(".entry pre").first.wait_for()
    assert "The webhook timeout" in page.locator("#detail blockquote").inner_text()
    numbers = re.findall(r"#\d+", line.inner_text())
    assert numbers
    assert all(any(one.startswith(f"{number} ·") for one in lines(page, ".entry h3")) for number in numbers)


def test_beside_the_brief_stand_verdict_findings_and_losses(page):
    look(page, "demo", "brief")
    words = page.locator(".beside").inner_text()
    assert "The brief passed on attempt 2 after rules took out 1 line." in words
    assert "no entry supports a line" in words
    assert re.search(r"\d+ identifiers? of the old view in neither brief nor tail", words)
    page.locator("summary", has_text="lost identifier").click()
    assert page.locator(".texts li").first.inner_text()


def test_a_line_that_nothing_supports_is_marked_and_an_import_is_told_as_one(page):
    look(page, "agent:main:imported", "brief")
    assert lines(page, ".unsupported") == ["nobody ever said this\nno source"]
    words = page.locator(".beside").inner_text()
    assert "imported, not audited" in words
    assert "Sizes unknown" in words
    page.locator(".unsupported .brief-line").click()
    page.get_by_text("No entry stands behind this line.").wait_for()


# What can be done from there ------------------------------------------------------------------------------------------


def test_preview_compact_and_undo(page, gateway):
    look(page, "agent:main:nightly", "window")
    page.locator("#do-preview").click()
    page.get_by_text("No model was asked and nothing was written.").wait_for()
    assert page.locator(".brief-line").count() > 5
    assert gateway.client().get("/api/session", params={"key": "agent:main:nightly"}).json()["compactions"] == 0
    page.get_by_role("button", name="Compact now…").click()
    page.locator("#ask-field").fill("which batches are in")
    page.get_by_role("button", name="Compact", exact=True).click()
    page.get_by_text("Not compacted: no draft of the brief passed the audit.").wait_for()
    page.get_by_role("button", name="Compact now…").click()
    page.get_by_role("button", name="By rules").click()
    page.locator(".which").wait_for()
    assert "written by rules" in page.locator(".beside").inner_text()
    page.get_by_text(re.compile(r"^Compacted: [\d,]+ → [\d,]+ tokens\.$")).wait_for()
    page.locator("#do-undo").click()
    page.get_by_role("button", name="Undo it").click()
    page.get_by_text(re.compile(r"^Taken back: ")).wait_for()
    assert gateway.client().get("/api/session", params={"key": "agent:main:nightly"}).json()["compactions"] == 0


def test_an_entry_is_pinned_and_let_go(page, gateway):
    look(page, "demo", "timeline")
    page.locator(".item.turn .item-open").first.click()
    page.locator(".entry-line").first.click()
    page.get_by_role("button", name="Pin", exact=True).click()
    page.locator(".entry .badge.pin").wait_for()
    page.locator(".item.pin", has_text="Pinned").wait_for()
    page.get_by_role("button", name="Unpin", exact=True).click()
    page.locator(".item.pin", has_text="Unpinned").wait_for()
    assert page.locator(".entry .badge.pin").count() == 0


def test_a_message_is_answered_piece_by_piece_and_every_open_page_sees_it(page, chromium, gateway):
    look(page, "agent:main:empty", "talk")
    other = chromium.new_page()
    other.goto(f"{gateway.url}/#s=agent:main:empty&t=talk")
    other.locator("#words").wait_for()
    other.get_by_text("live", exact=True).wait_for()
    page.locator("#words").fill("请说一句话 🙂")
    page.keyboard.press("Enter")
    for one in (page, other):
        one.locator(".message.live .said", has_text="all of it").wait_for()
    for one in (page, other):
        one.locator("#talk .message.assistant", has_text="Answer").wait_for()
        one.locator("#talk .message.user", has_text="请说一句话 🙂").wait_for()
        one.locator(".message.live").wait_for(state="detached")
    other.close()


def test_a_command_is_answered_beside_the_conversation(page):
    look(page, "demo", "talk")
    page.locator("#words").fill("/context list")
    page.locator("#panel-talk").get_by_role("button", name="Send").click()
    page.locator(".message.command pre", has_text="tool results").wait_for()


# Manners --------------------------------------------------------------------------------------------------------------


def test_all_of_it_is_reached_by_keyboard(page):
    page.locator("body").focus()
    for _ in range(12):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('#session-list a')"):
            break
    while "demo" not in page.evaluate("document.activeElement.dataset.key"):
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.locator(".piece").first.wait_for()
    page.locator("#tab-window").focus()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.matches('.piece')")
    first = page.evaluate("document.activeElement.dataset.name")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.dataset.name") != first
    assert "tokens" in page.locator("#readout").inner_text()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    page.locator(".entry pre").wait_for()
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.matches('.piece')")
    page.locator("#tab-window").focus()
    page.keyboard.press("ArrowRight")
    page.locator(".item-open").first.wait_for()
    assert page.evaluate("document.activeElement.id") == "tab-timeline"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_can_be_read_in_both_themes(page, scheme):
    page.emulate_media(color_scheme=scheme)
    for tab in TABS:
        look(page, "demo", tab)
        page.wait_for_timeout(300)
        assert page.evaluate(CONTRASTS) == []


def test_the_theme_is_the_systems_until_one_is_chosen(page):
    ground = "getComputedStyle(document.body).backgroundColor"
    page.emulate_media(color_scheme="dark")
    dark = page.evaluate(ground)
    page.emulate_media(color_scheme="light")
    light = page.evaluate(ground)
    page.locator("#theme").click()
    page.locator("#theme").click()
    assert page.evaluate(ground) == dark != light
    page.reload()
    assert page.evaluate(ground) == dark
    page.locator("#theme").click()
    assert page.evaluate(ground) == light


def test_nothing_moves_for_those_who_want_it_still(page):
    page.emulate_media(reduced_motion="reduce")
    look(page, "demo", "window")
    times = "[...document.querySelectorAll('*')].map((one) => getComputedStyle(one).transitionDuration)"
    assert set(page.evaluate(times)) == {"0s"}


@pytest.mark.parametrize("key", ["demo", "agent:main:hostile", "agent:main:nightly"])
def test_a_narrow_window_needs_no_scrolling_sideways(page, key):
    page.set_viewport_size({"width": 360, "height": 740})
    for tab in TABS:
        look(page, key, tab)
        page.wait_for_timeout(300)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
    page.locator("#menu").click()
    page.locator("#session-list a").first.wait_for()


def test_a_hostile_transcript_does_nothing_and_is_shown_as_it_is(page):
    for tab in TABS:
        look(page, "agent:main:hostile", tab)
        page.wait_for_timeout(300)
    words = page.locator("#talk .message.user .said").first.inner_text()
    assert "<script>window.__pwned = 1</script><img src=x onerror='window.__pwned = 2'>" in words
    assert "⟪ESC⟫[31mred" in words
    assert "⟪RLO⟫gnp.exe⟪PDF⟫" in words
    assert "⟪TAG⟫" in words
    assert page.evaluate("window.__pwned") is None
    assert page.evaluate("document.querySelectorAll('img, .said b, .said a, body script').length") == 0
    assert not set("\x1b\u202e\x07") & set(page.evaluate("document.body.textContent + document.title"))
    page.locator(".message .who button").first.click()
    page.locator(".entry pre").wait_for()
    assert HOSTILE[:36] in page.locator(".entry pre").inner_text()
    assert page.watch.dialogs == []


def test_a_session_that_was_deleted_meanwhile_is_said_to_be_gone(page, gateway):
    client, key = gateway.client(), "agent:main:short-lived"
    client.post("/api/sessions", json={"key": key})
    look(page, key, "timeline")
    client.request("DELETE", "/api/session", params={"key": key}, json={"confirm": key})
    page.locator("#tab-brief").click()
    page.get_by_text("This session is gone").wait_for()


# A gateway of its own -------------------------------------------------------------------------------------------------


def test_an_empty_store_says_how_to_begin_and_does(tmp_path, chromium, model):
    with Gateway(tmp_path, model) as gateway:
        page = chromium.new_page()
        page.goto(f"{gateway.url}/#token={TOKEN}")
        page.get_by_text("clew import").wait_for()
        page.get_by_role("button", name="Begin a session").click()
        page.locator("#ask-field").fill("First")
        page.keyboard.press("Enter")
        page.locator("#words").wait_for()
        assert "First" in page.locator("#name").inner_text()
        page.close()


def test_a_gateway_that_was_started_anew_asks_for_its_token_and_the_page_goes_on(tmp_path, chromium, model):
    furnish_one(tmp_path)
    gateway = Gateway(tmp_path, model)
    with gateway:
        page = chromium.new_page()
        page.goto(f"{gateway.url}/#token={TOKEN}")
        look(page, "agent:main:kept", "timeline")
        port = gateway.port
    page.get_by_text("not connected; trying again").wait_for()
    with Gateway(tmp_path, model, port=port):
        page.get_by_text("it was started anew").wait_for(timeout=30_000)
        page.locator("#token").fill(TOKEN)
        page.keyboard.press("Enter")
        page.locator("#name", has_text="agent:main:kept").wait_for()
        page.get_by_text("live", exact=True).wait_for()
        page.close()


def furnish_one(folder):
    """A store with one session."""
    with SqliteStore(folder / "clew.sqlite") as store:
        store.create("agent:main:kept", at=1)
