-- The ledger: the tables of version 6. `schema_7.sql` and those after it have what later versions add and change. Times are microseconds since 1970, UTC. States: see `model::state::State::code`.
CREATE TABLE campaign (
    id          INTEGER PRIMARY KEY CHECK (id = 1),
    campaign    TEXT NOT NULL,
    mode        TEXT NOT NULL,
    origin      TEXT NOT NULL,
    key_version INTEGER NOT NULL,
    key_secret  TEXT,              -- fingerprint
    created_at  INTEGER NOT NULL,
    sums        TEXT NOT NULL,     -- JSON: amounts and counts, updated in the same transactions as the rows
    run         INTEGER NOT NULL DEFAULT 1, -- incremented by each opening; a writer of an earlier run is refused
    commits     INTEGER NOT NULL DEFAULT 1, -- shows whether commits were lost with the log
    is_open     INTEGER NOT NULL DEFAULT 1, -- not closed since it was last opened
    settings    TEXT               -- JSON: the settings of the last run, for `rescreen collect`
) STRICT;

-- The checks of the campaign, with the layout of their results, which is fixed at first use.
CREATE TABLE check_use (
    id     INTEGER PRIMARY KEY,
    name   TEXT NOT NULL UNIQUE,
    check_name TEXT NOT NULL,      -- catalogue name
    layout TEXT NOT NULL           -- JSON
) STRICT;

CREATE TABLE source (
    id       INTEGER PRIMARY KEY,
    name     TEXT NOT NULL UNIQUE,
    layout   TEXT,                 -- JSON: format, delimiter, header; NULL until the source was opened
    complete INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE split (
    id              INTEGER PRIMARY KEY,
    source          INTEGER NOT NULL REFERENCES source (id),
    rows            INTEGER NOT NULL,
    end_offset      INTEGER NOT NULL,
    end_line        INTEGER NOT NULL,
    next_row_number INTEGER NOT NULL,
    sha256          BLOB NOT NULL, -- of the source's bytes up to end_offset
    records         BLOB NOT NULL, -- zstd of JSON lines
    ingested_at      INTEGER NOT NULL,
    UNIQUE (source, next_row_number)
) STRICT;

-- One row and one check. Exactly one of request, failure and skipped is set. Ids grow in input order.
CREATE TABLE ask (
    id        INTEGER PRIMARY KEY,
    split     INTEGER NOT NULL REFERENCES split (id),
    row_index INTEGER NOT NULL,    -- index of the row in its split, from 0
    check_use INTEGER,             -- NULL if the row could not be read: one failure for all checks
    request   INTEGER REFERENCES request (id),
    failure   TEXT,                -- JSON
    skipped   TEXT,
    part      INTEGER,             -- the result part that contains it
    expected  TEXT                 -- JSON: what the row expects of the answer
) STRICT;
CREATE INDEX ask_of_request ON ask (request) WHERE request IS NOT NULL;
CREATE INDEX ask_failed ON ask (id) WHERE failure IS NOT NULL;
CREATE INDEX ask_skipped ON ask (id) WHERE skipped IS NOT NULL;

CREATE TABLE request (
    id               INTEGER PRIMARY KEY,
    first_key        BLOB NOT NULL UNIQUE, -- the key of generation 0, 16 bytes
    check_name       TEXT NOT NULL,        -- catalogue name
    first_ask        INTEGER NOT NULL,     -- the ask it was made for, whose row carries the credits
    key              BLOB,                 -- the key of the current generation, if that is not 0
    generation       INTEGER NOT NULL DEFAULT 0,
    cached_refusals  INTEGER NOT NULL DEFAULT 0,
    refusals_in_row  INTEGER NOT NULL DEFAULT 0, -- consecutive, for credits or rate, under the current key
    unclear          INTEGER NOT NULL DEFAULT 0, -- complete 2xx replies under the current key that were not answers
    state            INTEGER NOT NULL DEFAULT 0,
    unproven         INTEGER NOT NULL DEFAULT 0,
    attempts         INTEGER NOT NULL DEFAULT 0,
    last_attempt     INTEGER NOT NULL DEFAULT 0, -- its number among all attempts in the ledger
    price            INTEGER NOT NULL DEFAULT 0,
    held             INTEGER NOT NULL DEFAULT 0,
    charged          INTEGER NOT NULL DEFAULT 0,
    possibly_charged INTEGER NOT NULL DEFAULT 0,
    first_armed_at        INTEGER,         -- under the current generation, by this machine's clock
    first_armed_at_server INTEGER,         -- the same by the service's clock, if it was known
    not_before            INTEGER,         -- the service asked not to repeat it before this time
    scope            TEXT,                 -- fingerprint of the API key under which it was first armed
    fields           TEXT NOT NULL,        -- JSON: the mapped fields
    body             BLOB NOT NULL,        -- the exact bytes to send
    digest           BLOB NOT NULL,        -- first 16 bytes of the SHA-256 of the body
    path             TEXT,                 -- the route of the last attempt; fixed while anything is in doubt
    failure          TEXT,                 -- JSON
    verdict          TEXT,
    finding          TEXT
) STRICT;
CREATE INDEX request_of_body ON request (digest);
CREATE INDEX request_unanswered ON request (state, id) WHERE state <> 10;
CREATE INDEX request_sent_before ON request (state, last_attempt) WHERE state <> 10 AND attempts > 0;
CREATE INDEX request_charged ON request (charged) WHERE charged <> 0;
CREATE INDEX request_of_key ON request (key) WHERE key IS NOT NULL;

CREATE TABLE attempt (
    request     INTEGER NOT NULL,
    number      INTEGER NOT NULL,
    generation  INTEGER NOT NULL,
    armed_at    INTEGER NOT NULL,
    outcome     TEXT,                      -- NULL while it is in flight
    http_status INTEGER,
    latency_ms  INTEGER,
    PRIMARY KEY (request, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE answer (
    request      INTEGER PRIMARY KEY,
    http_status  INTEGER NOT NULL,
    latency_ms   INTEGER NOT NULL,
    requested_at INTEGER NOT NULL,
    completed_at INTEGER NOT NULL,
    request_id   TEXT,
    body         BLOB NOT NULL             -- zstd of the raw answer
) STRICT;

-- The last complete reply to a request that could not be read. It may have been paid for.
CREATE TABLE unreadable (
    request     INTEGER PRIMARY KEY,
    http_status INTEGER NOT NULL,
    received_at INTEGER NOT NULL,
    body        BLOB NOT NULL              -- zstd of the raw reply
) STRICT;

-- Answered requests with at least one ask that is not in a part yet.
CREATE TABLE unpublished (request INTEGER PRIMARY KEY) STRICT;

CREATE TABLE part (
    id        INTEGER PRIMARY KEY,
    check_use INTEGER NOT NULL,
    first_ask INTEGER NOT NULL,
    last_ask  INTEGER NOT NULL,
    rows      INTEGER NOT NULL,
    path      TEXT NOT NULL,
    bytes     INTEGER,                     -- NULL until the file is complete
    sha256    TEXT,
    verdicts  TEXT                 -- JSON: rows by verdict, once the file is complete
) STRICT;

-- Decisions of a person: what, why, who and when.
CREATE TABLE decision (
    id       INTEGER PRIMARY KEY,
    request  INTEGER NOT NULL,
    decision TEXT NOT NULL,
    reason   TEXT NOT NULL,
    decided_by TEXT NOT NULL,
    decided_at INTEGER NOT NULL,
    charged_before INTEGER,        -- for a corrected charge
    charged_after  INTEGER
) STRICT;
