"""What a command writes, as it comes: its beginning and end in memory, all of it in a file once that is too little."""

import codecs
from typing import BinaryIO

from clew.errors import BadInput
from clew.workspace.place import Workspace
from clew.workspace.port import Output

HELD = 128_000
"""Characters of the beginning, and of the end, that are held: more than a result may show in the largest window."""
SAVED = 64 * 1024 * 1024
"""Bytes of an output that are kept in its file."""


class Capture:
    """An output in the making. Characters that come in two pieces are put together."""

    def __init__(self, workspace: Workspace, name: str) -> None:
        """`name` is the file's, in the folder of outputs."""
        self._workspace, self._name = workspace, name
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._head, self._tail, self._chars = "", "", 0
        self._file: BinaryIO | None = None
        self._path: str | None = None
        self._saved, self._whole = 0, True

    def add(self, data: bytes, *, final: bool = False) -> None:
        """Take the next piece."""
        text = self._decoder.decode(data, final)
        self._chars += len(text)
        room = HELD - len(self._head)
        self._head += text[:room]
        if behind := text[room:]:
            self._tail = (self._tail + behind)[-HELD:]
            self._save(behind)

    def close(self) -> None:
        """Nothing more comes."""
        self.add(b"", final=True)
        if self._file is not None:
            self._file.close()

    def output(self, *, closing: str, error: bool) -> Output:
        """All of it, as far as it is held, and where the whole is."""
        between = self._chars - len(self._head) - len(self._tail)
        if not self._whole and self._path:
            closing = f"[the file holds the first {self._saved:,} bytes of the output]\n{closing}"
        return Output(
            self._head or "(no output)", tail=self._tail, between=between, path=self._path, closing=closing, error=error
        )

    def _save(self, behind: str) -> None:
        """Write what is not held by the beginning; the first time, the beginning too."""
        if not self._whole:
            return
        try:
            if self._file is None:
                path = self._workspace.new_output(self._name)
                self._file, self._path = path.open("xb"), self._workspace.shown(path)
                behind = self._head + behind
            self._saved += self._file.write(behind.encode()[: SAVED - self._saved])
            self._whole = self._saved < SAVED
        except (BadInput, OSError):
            self._whole = False
