-- What search knows of messages. All of it can be dropped and made anew from the entries.
-- The words are in one FTS5 table for each session that was ever searched, `words_<session>`, made by its first search:
-- then a deleted session's words go with their table, and what a search costs is a matter of its session alone.

CREATE TABLE searched (
    session INTEGER PRIMARY KEY REFERENCES sessions (id) ON DELETE CASCADE,
    seq     INTEGER NOT NULL, -- the index knows the entries up to this one
    version INTEGER NOT NULL  -- of the rules by which texts became terms
) STRICT;

CREATE TABLE spoken (
    session INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    seq     INTEGER NOT NULL,
    at      INTEGER NOT NULL, -- milliseconds since 1970-01-01 UTC
    terms   INTEGER NOT NULL, -- how many it has
    PRIMARY KEY (session, seq)
) STRICT, WITHOUT ROWID;

CREATE INDEX spoken_by_time ON spoken (session, at);
