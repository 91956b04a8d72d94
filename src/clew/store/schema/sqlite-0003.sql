-- What search knows of messages. All of it can be dropped and made anew from the entries.
-- A session of few words has them in `sayings`, to be looked through. A longer one has an FTS5 table of its own,
-- `words_<session>`, made by a search: then a deleted session's words go with their table, and what a search costs is a
-- matter of its session alone. Not every session gets one, since each table makes opening the file slower.

CREATE TABLE searched (
    session INTEGER PRIMARY KEY REFERENCES sessions (id) ON DELETE CASCADE,
    seq     INTEGER NOT NULL, -- the index knows the entries up to this one
    version INTEGER NOT NULL, -- of the rules by which texts became terms
    size    INTEGER NOT NULL, -- characters of all terms
    latest  INTEGER NOT NULL, -- the greatest time, in milliseconds since 1970-01-01 UTC
    tabled  INTEGER NOT NULL  -- 1 where the words are in an FTS5 table
) STRICT;

CREATE TABLE sayings (
    session INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    seq     INTEGER NOT NULL,
    at      INTEGER NOT NULL,
    role    TEXT    NOT NULL,
    said    TEXT    NOT NULL, -- terms with blanks between them
    UNIQUE (session, seq)
) STRICT;

CREATE TABLE spoken (
    session INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    seq     INTEGER NOT NULL,
    at      INTEGER NOT NULL,
    latest  INTEGER NOT NULL, -- the greatest `at` up to here: where it reaches a time, the first message of that time is
    terms   INTEGER NOT NULL, -- how many it has
    PRIMARY KEY (session, seq)
) STRICT, WITHOUT ROWID;

CREATE INDEX spoken_by_time ON spoken (session, latest, seq);
