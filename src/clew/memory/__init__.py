"""Lasting notes the model writes before a compaction: when they are due, how they are asked for, what came of it."""
