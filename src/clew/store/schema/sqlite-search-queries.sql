-- What search asks of SQLite, by name. `words_0` stands for the table of one session's words.

-- name: fts5
SELECT 1 FROM pragma_module_list WHERE name = 'fts5';

-- name: reached
SELECT seq, size, latest, tabled FROM searched WHERE session = :session AND version = :version;

-- name: unread
SELECT seq, kind, version, data FROM entries WHERE session = :session AND seq > :after ORDER BY seq LIMIT :limit;

-- name: last
SELECT coalesce(max(seq), 0) FROM entries WHERE session = :session;

-- name: audit_sayings
SELECT role, count(*), sum(length(said)), max(at) FROM sayings WHERE session = :session GROUP BY role;

-- name: audit_spoken
SELECT count(*), coalesce(max(at), 0), coalesce(max(latest), 0), coalesce(sum(terms), 0) FROM spoken WHERE session = :session;

-- name: audit_words
SELECT count(*) FROM words_0 WHERE words_0 MATCH :match;

-- name: make
-- The text comes as terms already, and for the tokenizer `ascii` all that is not ASCII is a letter: it parts at blanks.
CREATE VIRTUAL TABLE IF NOT EXISTS words_0 USING fts5 (said, role, content = '', columnsize = 0, tokenize = 'ascii');

-- name: drop
DROP TABLE IF EXISTS words_0;

-- name: tear_out
DELETE FROM sqlite_schema WHERE name = :name;

-- name: forget_sayings
DELETE FROM sayings WHERE session = :session;

-- name: forget_spoken
DELETE FROM spoken WHERE session = :session;

-- name: forget_searched
DELETE FROM searched WHERE session = :session;

-- name: add_sayings
INSERT INTO sayings (session, seq, at, role, said) VALUES (:session, :seq, :at, :role, :said);

-- name: add_words
INSERT INTO words_0 (rowid, said, role) VALUES (:seq, :said, :role);

-- name: add_spoken
INSERT INTO spoken (session, seq, at, latest, terms) VALUES (:session, :seq, :at, :latest, :terms);

-- name: reach
INSERT INTO searched (session, seq, version, size, latest, tabled)
VALUES (:session, :seq, :version, :size, :latest, :tabled)
ON CONFLICT (session) DO UPDATE SET seq = excluded.seq, version = excluded.version, size = excluded.size,
                                    latest = excluded.latest, tabled = excluded.tabled;

-- name: sayings
SELECT seq, at, role, said FROM sayings WHERE session = :session ORDER BY seq;

-- name: first_since
SELECT seq FROM spoken WHERE session = :session AND latest >= :since ORDER BY latest, seq LIMIT 1;

-- name: last_until
SELECT seq FROM spoken WHERE session = :session AND at <= :until ORDER BY seq DESC LIMIT 1;

-- name: newest
SELECT rowid FROM words_0 WHERE words_0 MATCH :match AND rowid >= :first AND rowid <= :last
ORDER BY rowid DESC LIMIT :limit;

-- name: newest_at
SELECT words_0.rowid FROM words_0 CROSS JOIN spoken ON spoken.session = :session AND spoken.seq = words_0.rowid
WHERE words_0 MATCH :match AND words_0.rowid >= :first AND words_0.rowid <= :last
  AND spoken.at >= coalesce(:since, spoken.at) AND spoken.at <= coalesce(:until, spoken.at)
ORDER BY words_0.rowid DESC LIMIT :limit;

-- name: lengths
SELECT seq, terms FROM spoken WHERE session = :session AND seq IN (SELECT value FROM json_each(:seqs));

-- name: records
SELECT seq, tokens, size, version, data FROM entries
WHERE session = :session AND seq IN (SELECT value FROM json_each(:seqs));
