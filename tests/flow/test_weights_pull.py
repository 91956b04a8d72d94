"""Weights come over real HTTP on loopback: broken off, gone on with, refused, wrong; only the right bytes are kept."""

import hashlib
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from clew.errors import BadInput, StoreError, Unreachable
from clew.models import pull as pulling
from clew.models.pull import ATTEMPTS, BLOCK, pull
from clew.models.weights import Weights

BYTES = bytes(range(256)) * (3 * BLOCK // 256) + b"the end"
SOME = Weights("some", "some.gguf", hashlib.sha256(BYTES).hexdigest(), len(BYTES))
UNSIZED = Weights("some", "some.gguf", SOME.sha256)


class Site:
    """A site with one file. `cuts` are the bytes after which each answer breaks off; None sends all of it."""

    def __init__(self, body: bytes = BYTES, cuts: tuple[int | None, ...] = (), statuses: tuple[int, ...] = ()) -> None:
        self.body, self.cuts, self.statuses = body, list(cuts), list(statuses)
        self.ranges, self.knows_length = True, True
        self.asked: list[str | None] = []
        self.url = ""

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        self.asked.append(handler.headers.get("range"))
        if self.statuses and (status := self.statuses.pop(0)) != 200:
            handler.send_response(status)
            handler.send_header("content-length", "0")
            return handler.end_headers()
        start = int(re.findall(r"\d+", self.asked[-1])[0]) if self.asked[-1] and self.ranges else 0
        handler.send_response(206 if start else 200)
        if start:
            handler.send_header("content-range", f"bytes {start}-{len(self.body) - 1}/{len(self.body)}")
        if self.knows_length:
            handler.send_header("content-length", str(len(self.body) - start))
        handler.end_headers()
        cut = self.cuts.pop(0) if self.cuts else None
        handler.wfile.write(self.body[start : None if cut is None else start + cut])
        return None


@contextmanager
def served(site: Site) -> Iterator[Site]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            site.answer(self)

        def log_message(self, *_: object) -> None:
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        site.url = f"http://127.0.0.1:{server.server_address[1]}/some.gguf"
        yield site
        server.shutdown()
        thread.join()


def fetch(site, folder, weights=SOME):
    waits: list[float] = []
    with served(site):
        return pull(weights, folder, site.url, wait=waits.append), waits


def names(folder):
    return sorted(file.name for file in folder.iterdir())


@pytest.mark.parametrize("weights", [SOME, UNSIZED], ids=["size known", "only the hash known"])
def test_the_file_is_there_whole_with_its_notice(tmp_path, weights):
    done, waits = fetch(Site(), tmp_path, weights)
    assert (done.path.read_bytes(), done.again, waits) == (BYTES, False, [])
    assert names(tmp_path) == ["some.gguf", "some.gguf.NOTICE"]


def test_an_address_that_ends_with_a_slash_is_a_folder(tmp_path):
    with served(Site()) as site:
        assert pull(SOME, tmp_path, site.url.removesuffix("some.gguf")).size == len(BYTES)


def test_what_is_there_and_right_is_not_fetched_again(tmp_path):
    fetch(Site(), tmp_path)
    site = Site()
    done, _ = fetch(site, tmp_path)
    assert (done.again, site.asked) == (True, [])


def test_what_is_there_and_damaged_is_replaced(tmp_path):
    (tmp_path / "some.gguf").write_bytes(BYTES[:-1] + b"?")
    done, _ = fetch(Site(), tmp_path)
    assert (done.again, done.path.read_bytes() == BYTES) == (False, True)


def test_a_broken_stream_is_gone_on_with(tmp_path):
    site = Site(cuts=(2 * BLOCK, 100, None))
    done, waits = fetch(site, tmp_path)
    assert done.path.read_bytes() == BYTES
    assert site.asked == [None, f"bytes={2 * BLOCK}-", f"bytes={2 * BLOCK + 100}-"]
    assert waits == [1.0, 2.0]


def test_what_an_earlier_run_left_is_gone_on_with(tmp_path):
    (tmp_path / "some.gguf.part").write_bytes(BYTES[:1000])
    site = Site()
    fetch(site, tmp_path)
    assert site.asked == ["bytes=1000-"]


def test_a_server_that_knows_no_ranges_sends_all_of_it_again(tmp_path):
    site = Site(cuts=(BLOCK, None))
    site.ranges = False
    assert fetch(site, tmp_path)[0].path.read_bytes() == BYTES


def test_an_end_that_comes_early_without_a_length_is_noticed(tmp_path):
    site = Site(cuts=(BLOCK, None))
    site.knows_length = False
    assert fetch(site, tmp_path)[0].path.read_bytes() == BYTES
    assert len(site.asked) == 2


def test_a_server_in_trouble_is_asked_again(tmp_path):
    done, waits = fetch(Site(statuses=(503, 429, 200)), tmp_path)
    assert (done.size, waits) == (len(BYTES), [1.0, 2.0])


def test_a_server_that_stays_in_trouble_is_given_up_and_the_part_is_kept(tmp_path):
    (tmp_path / "some.gguf.part").write_bytes(BYTES[:5000])
    site = Site(statuses=(500,) * 9)
    with pytest.raises(Unreachable, match=r"5 times in a row \(HTTP 500\).*are kept.*go on"):
        fetch(site, tmp_path)
    assert len(site.asked) == ATTEMPTS
    assert (tmp_path / "some.gguf.part").stat().st_size == 5000


def test_a_server_that_sends_nothing_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(pulling, "SILENCE_S", 0.05)
    hold = threading.Event()
    site = Site()
    site.answer = lambda handler: hold.wait(5) and None
    try:
        with pytest.raises(Unreachable, match="Nothing was kept"):
            fetch(site, tmp_path)
    finally:
        hold.set()


def test_a_server_that_is_not_there_is_given_up(tmp_path):
    with served(Site()) as gone:
        pass
    with pytest.raises(Unreachable):
        pull(SOME, tmp_path, gone.url, wait=lambda _: None)


@pytest.mark.parametrize(("status", "why"), [(404, "no such file"), (401, "refuses")])
def test_a_refusal_ends_it_at_once(tmp_path, status, why):
    site = Site(statuses=(status,))
    with pytest.raises(BadInput, match=why):
        fetch(site, tmp_path)
    assert (len(site.asked), names(tmp_path)) == (1, [])


def test_wrong_bytes_are_put_aside_and_the_next_try_begins_anew(tmp_path):
    with pytest.raises(BadInput, match="is not some: its SHA-256"):
        fetch(Site(BYTES[:-1] + b"?"), tmp_path)
    assert names(tmp_path) == ["some.gguf.wrong"]
    assert fetch(Site(), tmp_path)[0].path.read_bytes() == BYTES


def test_another_size_is_refused_before_it_is_fetched(tmp_path):
    with pytest.raises(BadInput, match="9 bytes instead of"):
        fetch(Site(b"<html> 1\n"), tmp_path)
    assert names(tmp_path) == []


def test_a_disk_without_room_is_told_before_anything_is_fetched(tmp_path):
    vast = Weights("vast", "some.gguf", SOME.sha256)
    site = Site()

    def answer(handler):
        handler.send_response(200)
        handler.send_header("content-length", str(1 << 60))
        handler.end_headers()

    site.answer = answer
    with pytest.raises(StoreError, match="MB are needed"):
        fetch(site, tmp_path, vast)


@pytest.mark.parametrize("source", ["{}", "{}/some.gguf"], ids=["folder", "file"])
def test_a_folder_or_a_file_will_do(tmp_path, source):
    mirror, steps = tmp_path / "mirror", []
    mirror.mkdir()
    (mirror / "some.gguf").write_bytes(BYTES)
    done = pull(SOME, tmp_path / "models", source.format(mirror), on_step=steps.append)
    assert done.path.read_bytes() == BYTES
    assert [step.what for step in (steps[0], steps[-1])] == ["fetch", "check"]
    assert steps[-1].done == steps[-1].total == len(BYTES)


@pytest.mark.parametrize("source", ["nowhere.gguf", "."])
def test_a_path_without_the_file_is_told(tmp_path, monkeypatch, source):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInput, match="There is no file"):
        pull(SOME, tmp_path / "models", source)


def test_a_place_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / "models").write_text("a file, and no folder")
    with pytest.raises(StoreError, match="cannot be kept"):
        pull(SOME, tmp_path / "models", str(tmp_path))


def test_passwords_of_an_address_are_not_shown():
    assert pulling.shown("https://me:secret@host/file?token=1") == "https://host/file"
