"""One gateway a store: a lock on a file beside it, which the system lets go of however the process ends."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from clew.errors import StoreBusy

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

ENDING = ".gateway"
"""What the lock's file is called: the store's name and this."""


@contextmanager
def sole(store: Path) -> Iterator[None]:
    """Be the gateway of a store. Raises StoreBusy where there is one."""
    store = store.resolve()
    file = store.with_name(store.name + ENDING)
    file.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if not _locked(handle):
            holder = os.read(handle, 20).decode("ascii", "replace").strip()
            raise StoreBusy(
                f"Another gateway{f' (process {holder})' if holder else ''} owns the sessions of {store}. Nothing was "
                "started. Use that one, end it first, or name another store with --store."
            )
        os.ftruncate(handle, 0)
        os.pwrite(handle, str(os.getpid()).encode(), 0) if sys.platform != "win32" else None
        yield
    finally:
        os.close(handle)


def _locked(handle: int) -> bool:
    try:
        if sys.platform == "win32":
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
