"""Warnings of the log while the chat has the screen: standard error is the screen itself, so they are shown on it."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from textual.app import App

from clew.logs import Said


@contextmanager
def on_screen(app: App[Any]) -> Iterator[None]:
    """Show warnings on the screen in place of standard error."""
    logger, there = logging.getLogger("clew"), Notes(app)
    beside = [one for one in logger.handlers if type(one) is logging.StreamHandler]
    for one in beside:
        logger.removeHandler(one)
    logger.addHandler(there)
    try:
        yield
    finally:
        logger.removeHandler(there)
        for one in beside:
            logger.addHandler(one)


class Notes(logging.Handler):
    """Shows warnings as notes in a corner of the screen."""

    def __init__(self, app: App[Any]) -> None:
        super().__init__(logging.WARNING)
        self.setFormatter(Said())
        self._app = app

    def emit(self, record: logging.LogRecord) -> None:
        """One warning, from whatever thread."""
        words = self.format(record)
        if self._app.is_running:
            self._app.call_later(lambda: self._app.notify(words, severity="warning", markup=False))
