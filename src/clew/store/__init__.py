"""Where transcripts are kept: the contract, SQLite, an in-memory twin, and the way in and out."""
