"""Where policy, stores and models meet: one session handled from the outside, one compaction from start to commit."""
