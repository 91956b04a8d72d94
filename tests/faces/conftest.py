"""A home of its own for each test of a face."""

import logging

import pytest


@pytest.fixture
def home(tmp_path, monkeypatch):
    """An empty home, whose log is let go of at the end."""
    for name in ("CLEW_CONFIG", "CLEW_STORE", "OLLAMA_HOST"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CLEW_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    for handler in list(logging.getLogger("clew").handlers):
        logging.getLogger("clew").removeHandler(handler)
        handler.close()
