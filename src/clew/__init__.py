"""Clew keeps a long conversation with a language model inside its window, and the thread back to all of it."""
