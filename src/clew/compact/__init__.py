"""The old part of a view wound up into a brief: where to cut, what to ask, what to check, what to keep by rule."""
