"""Lasting notes: when the model is asked for them, and what they look like. Today its settings; the flush follows."""
