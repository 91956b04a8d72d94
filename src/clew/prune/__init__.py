"""Old tool results and images shown shortened: whether, which, and how far; the transcript is never touched."""
