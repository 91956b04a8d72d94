"""Old tool results shown shortened: whether, which, and how far. Today its settings; the ladder follows."""
