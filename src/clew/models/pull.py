"""Weights brought onto this machine, from an address, a file or a folder; kept only where their hash is right.

What has come so far stands beside the place as `….part` and is gone on with; the name itself appears at once and whole.
"""

import re
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from clew.errors import BadInput, ClewError, StoreError, Unreachable
from clew.models.local import is_local
from clew.models.weights import BLOCK, Weights, digest

ATTEMPTS = 5
"""Failures in a row, without a block coming through, after which a server is given up."""

LONGEST_WAIT_S = 30.0
"""Seconds between two attempts, at most; the waits double up to it."""

CONNECT_S, SILENCE_S = 10.0, 30.0
"""Seconds until a server must be reached, and until a stream that stands still is broken off."""

SPARE = 64 << 20
"""Bytes of the disk that are left free."""

TRANSIENT = frozenset({408, 425, 429, 500, 502, 503, 504})
"""HTTP statuses that may pass."""

_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+|\*)")


class Step(msgspec.Struct, frozen=True):
    """How far it is."""

    what: str
    """`fetch` or `check`."""
    done: int
    """Bytes."""
    total: int | None
    """Bytes; None where nobody said."""


class Pulled(msgspec.Struct, frozen=True):
    """Weights that are there and right."""

    weights: Weights
    path: Path
    size: int
    """Bytes."""
    again: bool = False
    """True where they were there before; nothing was fetched."""


OnStep = Callable[[Step], None]


def pull(
    weights: Weights,
    folder: Path,
    source: str,
    *,
    on_step: OnStep = lambda _: None,
    wait: Callable[[float], None] = time.sleep,
) -> Pulled:
    """Bring weights into `folder`.

    `source` is an http(s) address of the file, or of a folder where it ends with a slash; or a path of either. `wait`
    is called with the seconds between attempts. Raises BadInput for what is not the file, Unreachable, StoreError.
    """
    place = folder / weights.file
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if _is_right(weights, place, on_step):
            return Pulled(weights, place, place.stat().st_size, again=True)
        partial = place.with_name(f"{weights.file}.part")
        if re.match(r"https?://", source, re.IGNORECASE):
            url = f"{source}{weights.file}" if source.endswith("/") else source
            Download(weights, url, partial, on_step, wait).run()
        else:
            _copy(weights, _file(weights, Path(source).expanduser()), partial, on_step)
        _check(weights, partial, source, on_step)
        partial.replace(place)
        place.with_name(f"{weights.file}.NOTICE").write_text(f"{weights.notice}\n", encoding="utf-8")
    except OSError as error:
        raise StoreError(
            f"The weights cannot be kept in {folder} ({error}). What had come so far stays; mend it, and run the "
            "command again."
        ) from error
    return Pulled(weights, place, place.stat().st_size)


def _is_right(weights: Weights, file: Path, on_step: OnStep) -> bool:
    if not file.is_file() or (weights.size is not None and file.stat().st_size != weights.size):
        return False
    return _digest(file, on_step) == weights.sha256


def _check(weights: Weights, partial: Path, source: str, on_step: OnStep) -> None:
    """Raises BadInput where the bytes are not the weights; they are put aside, so that the next try begins anew."""
    found = _digest(partial, on_step)
    if found == weights.sha256:
        return
    aside = partial.with_name(f"{weights.file}.wrong")
    partial.replace(aside)
    raise BadInput(
        f"What {shown(source)} gave is not {weights.name}: its SHA-256 is {found}, and it should be {weights.sha256}. "
        f"No model was changed; the bytes are in {aside}. Run the command again, or name another source with --from."
    )


def _digest(file: Path, on_step: OnStep) -> str:
    total, done = file.stat().st_size, 0

    def more(count: int) -> None:
        nonlocal done
        done += count
        on_step(Step("check", done, total))

    with file.open("rb") as opened:
        return digest(opened, more).hexdigest()


def _file(weights: Weights, given: Path) -> Path:
    """The file that a path of it or of its folder leads to."""
    file = given / weights.file if given.is_dir() else given
    if not file.is_file():
        raise BadInput(f"There is no file {file}; nothing was changed. Name the file, or the folder it is in.")
    if weights.size is not None and file.stat().st_size != weights.size:
        raise _another(weights, str(file), file.stat().st_size)
    return file


def _copy(weights: Weights, file: Path, partial: Path, on_step: OnStep) -> None:
    total, done = file.stat().st_size, 0
    room(partial.parent, total)
    with file.open("rb") as given, partial.open("wb") as taken:
        while block := given.read(BLOCK):
            taken.write(block)
            done += len(block)
            on_step(Step("fetch", done, total))


def room(folder: Path, needed: int) -> None:
    """Raises StoreError where a disk has no room for so many bytes."""
    free = shutil.disk_usage(folder).free
    if free < needed + SPARE:
        raise StoreError(
            f"{folder} has {free // 10**6:,} MB free, and {(needed + SPARE) // 10**6:,} MB are needed. What had come "
            "so far stays. Make room, or set CLEW_HOME to a folder on a larger disk."
        )


def _another(weights: Weights, source: str, size: int) -> BadInput:
    return BadInput(
        f"What is at {shown(source)} is not {weights.name}: it has {size:,} bytes instead of {weights.size:,}. "
        "Nothing was kept of it. Name another source with --from."
    )


def shown(source: str) -> str:
    """A source as it may be shown: an address without a password and without what follows `?`."""
    return re.sub(r"//[^/@]*@", "//", source).partition("?")[0] if "://" in source else source


class _Broken(Unreachable):
    """An attempt that came to nothing and may be repeated."""


class Download:
    """One file over HTTP, gone on with from where an earlier attempt broke off."""

    def __init__(
        self, weights: Weights, url: str, partial: Path, on_step: OnStep, wait: Callable[[float], None]
    ) -> None:
        self.weights, self.url, self.partial = weights, url, partial
        self._on_step, self._wait = on_step, wait

    def run(self) -> None:
        """Fetch until all of it is there. Raises BadInput, StoreError, or Unreachable after enough failures."""
        # Loaded for a download only; the command line starts without it.
        import httpx2  # noqa: PLC0415

        passing = (httpx2.TransportError, _Broken)
        bounds = httpx2.Timeout(SILENCE_S, connect=CONNECT_S)
        # A proxy of the environment cannot lead to a server on this machine.
        with httpx2.Client(follow_redirects=True, timeout=bounds, trust_env=not is_local(self.url)) as client:
            failed = 0
            while True:
                before = self._have()
                try:
                    return self._attempt(client, before)
                except (httpx2.InvalidURL, httpx2.TooManyRedirects) as error:
                    raise BadInput(
                        f"{shown(self.url)} leads nowhere ({error}). Nothing was changed. Name another source."
                    ) from error
                except passing as error:
                    failed = 1 if self._have() - before >= BLOCK else failed + 1
                    if failed >= ATTEMPTS:
                        raise self._given_up(error) from error
                    self._wait(min(2.0 ** (failed - 1), LONGEST_WAIT_S))

    def _attempt(self, client: Any, have: int) -> None:
        if have and have == self.weights.size:
            return
        headers = {"accept-encoding": "identity"} | ({"range": f"bytes={have}-"} if have else {})
        with client.stream("GET", self.url, headers=headers) as answer:
            have, total = self._begun(answer, have)
            room(self.partial.parent, (total or 0) - have)
            self._take(answer, have, total)

    def _begun(self, answer: Any, have: int) -> tuple[int, int | None]:
        """The bytes to keep of those that are there, and the size of the whole where the server says it."""
        if answer.status_code == 416 or answer.status_code in TRANSIENT:
            if answer.status_code == 416:
                self.partial.unlink(missing_ok=True)
            raise _Broken(f"HTTP {answer.status_code}")
        if answer.status_code not in (200, 206):
            raise self._refused(answer.status_code)
        found = _RANGE.match(answer.headers.get("content-range", "")) if answer.status_code == 206 else None
        if found is None or int(found[1]) != have:
            # The server sends all of it, or another part than was asked for, which is of no use.
            if answer.status_code == 206:
                self.partial.unlink(missing_ok=True)
                raise _Broken("the server sent another part than was asked for")
            have, length = 0, answer.headers.get("content-length", "")
        else:
            length = found[2]
        total = int(length) if length.isdigit() else None
        if total is not None and self.weights.size not in (None, total):
            raise _another(self.weights, self.url, total)
        return have, total or self.weights.size

    def _take(self, answer: Any, have: int, total: int | None) -> None:
        with self.partial.open("r+b" if have else "wb") as file:
            file.seek(have)
            for block in answer.iter_raw():  # in the pieces it comes in: what came before a break is kept
                file.write(block)
                have += len(block)
                if total is not None and have > total:
                    raise _another(self.weights, self.url, have)
                self._on_step(Step("fetch", have, total))
        if total is not None and have < total:
            raise _Broken("the stream ended early")

    def _have(self) -> int:
        """The bytes of earlier attempts; more than the whole is none of it."""
        have = self.partial.stat().st_size if self.partial.exists() else 0
        if self.weights.size is not None and have > self.weights.size:
            self.partial.unlink()
            return 0
        return have

    def _refused(self, status: int) -> ClewError:
        why = "there is no such file" if status in (404, 410) else "the server refuses it"
        return BadInput(
            f"{shown(self.url)}: {why} ({status}). Nothing was changed. Name another source with --from: an address, "
            "a file, or a folder."
        )

    def _given_up(self, error: Exception) -> Unreachable:
        have, reason = self._have(), str(error) or type(error).__name__
        kept = f"The {have / 10**6:,.1f} MB that came are kept" if have else "Nothing was kept"
        return Unreachable(
            f"{shown(self.url)} failed {ATTEMPTS} times in a row ({reason}). {kept}. Run the command again to go on, "
            "or name another source with --from: an address, a file, or a folder."
        )
