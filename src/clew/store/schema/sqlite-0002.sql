-- Who runs a turn on a session: one owner at a time, for a bounded time.

CREATE TABLE claims (
    session INTEGER PRIMARY KEY REFERENCES sessions (id) ON DELETE CASCADE,
    owner   TEXT    NOT NULL,
    until   INTEGER NOT NULL -- milliseconds since 1970-01-01 UTC
) STRICT;
