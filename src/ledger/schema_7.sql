-- What version 7 adds to `schema.sql`, so that a ledger of version 6 can be upgraded by creating these tables.

-- The rules by which answers are read and judged: pointers, verdict rules, places of images. Never changed.
CREATE TABLE rules (
    id         INTEGER PRIMARY KEY,
    check_name TEXT NOT NULL,      -- catalogue name
    digest     BLOB NOT NULL,      -- SHA-256 of the text
    text       TEXT NOT NULL,      -- JSON
    UNIQUE (check_name, digest)
) STRICT;

-- The rules that apply now.
CREATE TABLE current_rules (
    check_name TEXT PRIMARY KEY,
    rules      INTEGER NOT NULL REFERENCES rules (id)
) STRICT, WITHOUT ROWID;

-- The rules that a result part was made with. A part of version 6 has none: its layout contains its pointers.
CREATE TABLE part_rules (
    part  INTEGER PRIMARY KEY,
    rules INTEGER NOT NULL REFERENCES rules (id)
) STRICT;

-- How many rows of a part these rules judge differently than the rules that the part was made with.
CREATE TABLE compared (
    part      INTEGER PRIMARY KEY,
    rules     INTEGER NOT NULL REFERENCES rules (id),
    differing INTEGER NOT NULL
) STRICT;

-- Requests in `unpublished` that the current rules have not judged yet.
CREATE TABLE unjudged (request INTEGER PRIMARY KEY) STRICT;

-- Requests in `unpublished` whose answer the current rules do not recognise.
CREATE TABLE unrecognised (request INTEGER PRIMARY KEY) STRICT;

-- Answered requests whose answer names the key of another request.
CREATE TABLE crossed (request INTEGER PRIMARY KEY) STRICT;

-- The files of a request. Their content is read again before each attempt and compared with the digest.
CREATE TABLE attachment (
    request INTEGER NOT NULL,
    field   TEXT NOT NULL,
    path    TEXT NOT NULL,                 -- relative to the files root
    sha256  BLOB NOT NULL,
    bytes   INTEGER NOT NULL,
    media   TEXT NOT NULL,                 -- media type
    place   TEXT NOT NULL,                 -- base64, part or upload
    PRIMARY KEY (request, field)
) STRICT, WITHOUT ROWID;

-- Where other rows have the same files. They share the request, and any of the files will do.
CREATE TABLE other_path (
    request INTEGER NOT NULL,
    field   TEXT NOT NULL,
    path    TEXT NOT NULL,                 -- relative to the files root
    PRIMARY KEY (request, field, path)
) STRICT, WITHOUT ROWID;

-- The upload that a request names. It is recorded before the request is armed, because one key has one body.
CREATE TABLE upload (
    request    INTEGER PRIMARY KEY,
    generation INTEGER NOT NULL,           -- of the key whose body names it
    reference  TEXT NOT NULL,
    made_at    INTEGER NOT NULL            -- 0 until the document is sent
) STRICT;
CREATE INDEX upload_of_reference ON upload (reference);

-- Requests that the service accepted as jobs. While it is open, each is in state 4, and is not sent again.
CREATE TABLE job (
    request     INTEGER PRIMARY KEY,
    job_id      TEXT NOT NULL,
    accepted_at INTEGER NOT NULL,
    accepted_at_server INTEGER,            -- the same by the service's clock, if it was known
    asked_at    INTEGER NOT NULL,          -- when its state was last asked for; 0 before the first question, or if a clock was wrong
    ask_at      INTEGER,                   -- when to ask for its state again; NULL once it has ended
    asks        INTEGER NOT NULL DEFAULT 0,
    misses      INTEGER NOT NULL DEFAULT 0, -- how often in a row the service did not know it
    missed_at   INTEGER,                   -- when that was last counted
    charged     INTEGER NOT NULL DEFAULT 0, -- the charge that the reply stated that accepted it
    heard       TEXT                       -- what the service last said in place of its state
) STRICT;
CREATE INDEX job_of_id ON job (job_id);
CREATE INDEX job_to_ask ON job (ask_at) WHERE ask_at IS NOT NULL;

-- Where the service delivers to, and the secret it signs with. The bodies of requests contain both.
CREATE TABLE receiver (
    number  INTEGER PRIMARY KEY,
    id      TEXT NOT NULL UNIQUE,          -- random; part of the URL
    base    TEXT NOT NULL,
    secret  TEXT NOT NULL,
    made_at INTEGER NOT NULL
) STRICT;

-- Deliveries about jobs that no reply has named yet.
CREATE TABLE early_delivery (
    job_id      TEXT PRIMARY KEY,
    received_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The last delivery that was read from the inbox.
CREATE TABLE inbox_read (
    id     INTEGER PRIMARY KEY CHECK (id = 1),
    inbox  TEXT NOT NULL,                  -- its random id: the numbers begin at 1 in each inbox
    number INTEGER NOT NULL
) STRICT;

-- What shows that the persons of a check consented, where one value confirms it for every row: who named it, and when.
CREATE TABLE consent (
    check_name  TEXT NOT NULL,     -- catalogue name
    evidence    TEXT NOT NULL,
    recorded_by TEXT NOT NULL,
    recorded_at INTEGER NOT NULL,
    PRIMARY KEY (check_name, evidence)
) STRICT;

-- The version of the service's list that an answer was made with, if it names one.
CREATE TABLE dataset_of_answer (
    request INTEGER PRIMARY KEY,
    version TEXT NOT NULL
) STRICT;
