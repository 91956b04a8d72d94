-- Sessions, their entries, and what happened to them.

CREATE TABLE sessions (
    id            INTEGER PRIMARY KEY AUTOINCREMENT, -- never given to another session, not even after a delete
    key           TEXT    NOT NULL UNIQUE,
    created       INTEGER NOT NULL,
    updated       INTEGER NOT NULL,
    leaf          TEXT,
    generation    INTEGER NOT NULL,
    boundary      TEXT,
    start         INTEGER NOT NULL,
    entries       INTEGER NOT NULL,
    compactions   INTEGER NOT NULL,
    window_tokens INTEGER NOT NULL,
    window_bytes  INTEGER NOT NULL,
    meta          BLOB    NOT NULL
) STRICT;

-- A table with row ids, since a blob of many kilobytes does not belong into the tree of an index.
-- The columns before `data` are what queries look for; the entry itself is in `data`, whole.
CREATE TABLE entries (
    session INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    seq     INTEGER NOT NULL,
    id      TEXT    NOT NULL,
    kind    TEXT    NOT NULL,
    tokens  INTEGER NOT NULL,
    size    INTEGER NOT NULL,
    version INTEGER NOT NULL,
    data    BLOB    NOT NULL,
    UNIQUE (session, seq),
    UNIQUE (session, id)
) STRICT;

CREATE INDEX compactions_in_order ON entries (session, seq) WHERE kind = 'compaction';
CREATE INDEX compactions_by_id ON entries (id, session) WHERE kind = 'compaction';

CREATE TABLE events (
    seq     INTEGER PRIMARY KEY AUTOINCREMENT, -- a follower that asks for what came after n misses nothing
    session INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    at      INTEGER NOT NULL,
    kind    TEXT    NOT NULL,
    data    BLOB    NOT NULL
) STRICT;

CREATE INDEX events_of_session ON events (session, seq);
