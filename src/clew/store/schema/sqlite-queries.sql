-- What the SQLite store asks, by name. A list of ids is handed over as one JSON array.

-- name: create
INSERT INTO sessions (key, created, updated, leaf, generation, boundary, start, entries, compactions,
                      window_tokens, window_bytes, meta)
VALUES (:key, :created, :updated, :leaf, :generation, :boundary, :start, :entries, :compactions,
        :window_tokens, :window_bytes, :meta);

-- name: session
SELECT id, key, created, updated, leaf, generation, boundary, start, entries, compactions,
       window_tokens, window_bytes, meta
FROM sessions WHERE key = :key;

-- name: sessions
SELECT id, key, created, updated, leaf, generation, boundary, start, entries, compactions,
       window_tokens, window_bytes, meta
FROM sessions
WHERE substr(key, 1, length(:prefix)) = :prefix AND updated >= coalesce(:active_since, updated)
ORDER BY updated DESC, key LIMIT coalesce(:limit, -1);

-- name: update
UPDATE sessions
SET updated = :updated, leaf = :leaf, generation = :generation, boundary = :boundary, start = :start,
    entries = :entries, compactions = :compactions, window_tokens = :window_tokens, window_bytes = :window_bytes
WHERE id = :session;

-- name: describe
UPDATE sessions SET meta = :meta WHERE id = :session;

-- name: delete
DELETE FROM sessions WHERE id = :session;

-- name: cut_off
DELETE FROM entries WHERE session = :session AND seq <= :cut;

-- name: lifted
-- Out of the way first: a number that is still taken would stop the renumbering halfway.
UPDATE entries SET seq = -seq WHERE session = :session;

-- name: lowered
UPDATE entries SET seq = -seq - :cut WHERE session = :session;

-- name: mended
UPDATE entries SET size = :size, version = :version, data = :data WHERE session = :session AND seq = :seq;

-- name: owed_no_more
DELETE FROM owed WHERE session = :session AND NOT (
    EXISTS (SELECT 1 FROM entries WHERE entries.session = owed.session AND entries.id = owed.first)
    AND EXISTS (SELECT 1 FROM entries WHERE entries.session = owed.session AND entries.id = owed.last));

-- name: known
SELECT id, seq, kind FROM entries
WHERE session = :session AND id IN (SELECT value FROM json_each(:ids));

-- name: insert
INSERT INTO entries (session, seq, id, kind, tokens, size, version, data)
VALUES (:session, :seq, :id, :kind, :tokens, :size, :version, :data);

-- name: sums
-- A compaction or reset that is not the boundary was taken up by it, or taken back: nobody is shown it.
SELECT coalesce(sum(tokens), 0), coalesce(sum(size), 0) FROM entries
WHERE session = :session AND seq >= :start AND (kind NOT IN ('compaction', 'reset') OR id = :boundary);

-- name: page
SELECT seq, tokens, size, version, data FROM entries
WHERE session = :session AND seq > :after ORDER BY seq LIMIT :limit;

-- name: audit
SELECT seq, id, kind, tokens, size, version, data FROM entries
WHERE session = :session AND seq > :after AND kind = coalesce(:kind, kind)
  AND (:ids IS NULL OR id IN (SELECT value FROM json_each(:ids)))
ORDER BY seq LIMIT :limit;

-- name: named
SELECT seq, tokens, size, version, data FROM entries
WHERE session = :session AND id >= :name ORDER BY id LIMIT 2;

-- name: many
-- In no order: asked for one by `seq`, SQLite would walk the whole session to save the sorting.
SELECT seq, tokens, size, version, data FROM entries
WHERE session = :session AND id IN (SELECT value FROM json_each(:ids));

-- name: compactions
SELECT seq, tokens, size, version, data FROM entries
WHERE session = :session AND kind = 'compaction' ORDER BY seq;

-- name: find_compaction
SELECT sessions.key, entries.seq, entries.tokens, entries.size, entries.version, entries.data
FROM entries JOIN sessions ON sessions.id = entries.session
WHERE entries.kind = 'compaction' AND entries.id >= :name
ORDER BY entries.id, entries.session LIMIT 2;

-- name: happened
INSERT INTO events (session, at, kind, data) VALUES (:session, :at, :kind, :data);

-- name: events
SELECT events.seq, sessions.key, events.at, events.kind, events.data
FROM events JOIN sessions ON sessions.id = events.session
WHERE events.seq > :after ORDER BY events.seq LIMIT coalesce(:limit, -1);

-- name: events_of
SELECT events.seq, sessions.key, events.at, events.kind, events.data
FROM events JOIN sessions ON sessions.id = events.session
WHERE sessions.key = :key AND events.seq > :after ORDER BY events.seq LIMIT coalesce(:limit, -1);

-- name: claim
INSERT INTO claims (session, owner, until) VALUES (:session, :owner, :until)
ON CONFLICT (session) DO UPDATE SET owner = excluded.owner, until = excluded.until
WHERE claims.owner = excluded.owner OR claims.until <= :now;

-- name: holder
SELECT owner FROM claims WHERE session = :session;

-- name: release
DELETE FROM claims WHERE session = :session AND owner = :owner;

-- name: owe
INSERT INTO owed (session, turn, engine, first, last, at) VALUES (:session, :turn, :engine, :first, :last, :at);

-- name: owed_turn
SELECT sessions.key, owed.turn, owed.engine, owed.first, owed.last, owed.at, owed.attempts, owed.error, owed.blocked
FROM owed JOIN sessions ON sessions.id = owed.session WHERE sessions.key = :key AND owed.turn = :turn;

-- name: owed
SELECT sessions.key, owed.turn, owed.engine, owed.first, owed.last, owed.at, owed.attempts, owed.error, owed.blocked
FROM owed JOIN sessions ON sessions.id = owed.session
WHERE sessions.key = coalesce(:key, sessions.key) ORDER BY owed.seq;

-- name: settled
DELETE FROM owed WHERE session = :session AND turn = :turn;

-- name: unsettled
UPDATE owed SET attempts = attempts + 1, error = :error, blocked = :blocked WHERE session = :session AND turn = :turn;

-- name: reopened
UPDATE owed SET blocked = 0, attempts = 0 WHERE session = :session AND blocked = 1;
