-- Finished turns that a context engine has still to take over, stored with the turn's last entry.

CREATE TABLE owed (
    seq      INTEGER PRIMARY KEY AUTOINCREMENT, -- the order in which they are handed over
    session  INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    turn     TEXT    NOT NULL,
    engine   TEXT    NOT NULL,
    first    TEXT    NOT NULL,
    last     TEXT    NOT NULL,
    at       INTEGER NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    error    TEXT    NOT NULL DEFAULT '',
    blocked  INTEGER NOT NULL DEFAULT 0,
    UNIQUE (session, turn)
) STRICT;
