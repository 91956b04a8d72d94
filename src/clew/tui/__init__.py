"""The chat on a full screen."""
