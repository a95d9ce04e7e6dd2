-- The ledger, version 6. Times are microseconds since 1970, UTC. States: see `model::state::State::code`.
CREATE TABLE campaign (
    id          INTEGER PRIMARY KEY CHECK (id = 1),
    campaign    TEXT NOT NULL,
    mode        TEXT NOT NULL,
    origin      TEXT NOT NULL,
    key_version INTEGER NOT NULL,
    key_secret  TEXT,              -- fingerprint
    created_at  INTEGER NOT NULL,
    sums        TEXT NOT NULL,     -- JSON: money and counts, kept in the same transactions as what they sum
    run         INTEGER NOT NULL DEFAULT 1, -- each opening counts one up; a writer of an earlier run is refused
    commits     INTEGER NOT NULL DEFAULT 1, -- so that commits that are lost with the log are missed
    is_open     INTEGER NOT NULL DEFAULT 1, -- no run has closed it since it was opened
    settings    TEXT               -- JSON: what `rescreen collect` needs to go by, as of the last run
) STRICT;

-- Each check's name in the campaign, with the shape of its results, fixed when it is first used.
CREATE TABLE check_use (
    id     INTEGER PRIMARY KEY,
    name   TEXT NOT NULL UNIQUE,
    check_name TEXT NOT NULL,      -- in the catalogue
    layout TEXT NOT NULL           -- JSON
) STRICT;

CREATE TABLE source (
    id       INTEGER PRIMARY KEY,
    name     TEXT NOT NULL UNIQUE,
    layout   TEXT,                 -- JSON: format, delimiter, header; NULL until it was opened
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

-- A row and a check: ends in exactly one of a request, a failure, a skip. Ids grow in input order.
CREATE TABLE ask (
    id        INTEGER PRIMARY KEY,
    split     INTEGER NOT NULL REFERENCES split (id),
    row_index INTEGER NOT NULL,    -- of the row in its split, from 0
    check_use INTEGER,             -- NULL: the row could not be read, one failure for all checks
    request   INTEGER REFERENCES request (id),
    failure   TEXT,                -- JSON
    skipped   TEXT,
    part      INTEGER,             -- the result part that holds it
    expected  TEXT                 -- what the row expects of the answer, JSON
) STRICT;
CREATE INDEX ask_of_request ON ask (request) WHERE request IS NOT NULL;
CREATE INDEX ask_failed ON ask (id) WHERE failure IS NOT NULL;
CREATE INDEX ask_skipped ON ask (id) WHERE skipped IS NOT NULL;

CREATE TABLE request (
    id               INTEGER PRIMARY KEY,
    first_key        BLOB NOT NULL UNIQUE, -- the key of generation 0, 16 bytes
    check_name       TEXT NOT NULL,        -- in the catalogue
    first_ask        INTEGER NOT NULL,     -- the ask it was made for: its row carries the credits, for good
    key              BLOB,                 -- the key of the present generation, where that is not 0
    generation       INTEGER NOT NULL DEFAULT 0,
    cached_refusals  INTEGER NOT NULL DEFAULT 0,
    refusals_in_row  INTEGER NOT NULL DEFAULT 0, -- for credits or rate, one after the other under the present key
    unclear          INTEGER NOT NULL DEFAULT 0, -- complete 2xx replies under the present key that were not answers
    state            INTEGER NOT NULL DEFAULT 0,
    unproven         INTEGER NOT NULL DEFAULT 0,
    attempts         INTEGER NOT NULL DEFAULT 0,
    last_attempt     INTEGER NOT NULL DEFAULT 0, -- its number among all attempts of the ledger
    price            INTEGER NOT NULL DEFAULT 0,
    held             INTEGER NOT NULL DEFAULT 0,
    charged          INTEGER NOT NULL DEFAULT 0,
    possibly_charged INTEGER NOT NULL DEFAULT 0,
    first_armed_at        INTEGER,         -- of the present generation, by this machine's clock
    first_armed_at_server INTEGER,         -- the same by the service's clock, where it was known
    not_before            INTEGER,         -- the service asked not to repeat it before this moment
    scope            TEXT,                 -- fingerprint of the API key it was first armed under
    fields           TEXT NOT NULL,        -- the mapped fields, JSON
    body             BLOB NOT NULL,        -- the exact bytes to send
    digest           BLOB NOT NULL,        -- SHA-256 of the body, 16 bytes
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
    outcome     TEXT,                      -- NULL while it is under way
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

-- The last reply to a request that was complete and could not be read: it may have been paid for.
CREATE TABLE unreadable (
    request     INTEGER PRIMARY KEY,
    http_status INTEGER NOT NULL,
    received_at INTEGER NOT NULL,
    body        BLOB NOT NULL              -- zstd of the raw reply
) STRICT;

-- Requests with an answer and at least one ask that is in no part yet.
CREATE TABLE unpublished (request INTEGER PRIMARY KEY) STRICT;

CREATE TABLE part (
    id        INTEGER PRIMARY KEY,
    check_use INTEGER NOT NULL,
    first_ask INTEGER NOT NULL,
    last_ask  INTEGER NOT NULL,
    rows      INTEGER NOT NULL,
    path      TEXT NOT NULL,
    bytes     INTEGER,                     -- NULL until the file is whole
    sha256    TEXT,
    verdicts  TEXT                 -- JSON: rows by verdict, once the file is whole
) STRICT;

-- Decisions of a person: who, when, why.
CREATE TABLE decision (
    id       INTEGER PRIMARY KEY,
    request  INTEGER NOT NULL,
    decision TEXT NOT NULL,
    reason   TEXT NOT NULL,
    decided_by TEXT NOT NULL,
    decided_at INTEGER NOT NULL,
    charged_before INTEGER,        -- of a corrected charge
    charged_after  INTEGER
) STRICT;
