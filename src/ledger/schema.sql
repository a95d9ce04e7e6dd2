-- The ledger, version 1. Times are microseconds since 1970, UTC. States: see `model::state::State::code`.
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
    finding          TEXT,
    revision         INTEGER NOT NULL DEFAULT 0, -- how often it has changed, where a charge book is told of it
    elsewhere        INTEGER NOT NULL DEFAULT 0  -- 1: in the book it belongs to another partition of the campaign
) STRICT;
CREATE INDEX request_of_body ON request (digest);
-- A request that is sent and answered leaves these indexes once, when it is armed.
CREATE INDEX request_in_state ON request (state, id) WHERE state NOT IN (1, 10);
CREATE INDEX request_waiting ON request (state, last_attempt) WHERE state NOT IN (1, 10) AND attempts > 0;
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

-- The rules that a result part was made with.
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

-- Requests that have changed since the charge book was told of them.
CREATE TABLE untold (
    change  INTEGER PRIMARY KEY AUTOINCREMENT,
    request INTEGER NOT NULL UNIQUE
) STRICT;

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
    polled_at   INTEGER NOT NULL,          -- when it was last polled; 0 before the first poll, or if a clock was wrong
    poll_at     INTEGER,                   -- when to poll it again; NULL once it has ended
    polls       INTEGER NOT NULL DEFAULT 0,
    misses      INTEGER NOT NULL DEFAULT 0, -- how often in a row the service did not know it
    missed_at   INTEGER,                   -- when that was last counted
    charged     INTEGER NOT NULL DEFAULT 0, -- the charge that the reply stated that accepted it
    last_message TEXT                      -- what the service last said in place of its state
) STRICT;
CREATE INDEX job_of_id ON job (job_id);
CREATE INDEX job_to_poll ON job (poll_at) WHERE poll_at IS NOT NULL;

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

-- The runs of the campaign and how each ended. A run without an end is under way, or was killed.
CREATE TABLE run (
    id             INTEGER PRIMARY KEY,
    command        TEXT NOT NULL,          -- run or collect
    program        TEXT NOT NULL,          -- version of rescreen
    started_by     TEXT NOT NULL,          -- the name of the system user
    campaign_text  INTEGER REFERENCES campaign_text (id), -- NULL if the run was not made with a campaign file or flags
    started_at     INTEGER NOT NULL,
    ended_at       INTEGER,
    exit_code      INTEGER,
    kind           TEXT,                   -- see model::StopKind; NULL if nothing stopped it
    message        TEXT,
    next_command   TEXT,                   -- as a user can copy it
    credits_needed INTEGER                 -- the limit that suffices, if the limit stopped it
) STRICT;

-- The campaign files of the runs with the flags beside them: TOML without secrets.
CREATE TABLE campaign_text (
    id   INTEGER PRIMARY KEY,
    text TEXT NOT NULL UNIQUE
) STRICT;

-- The file with the answers of a result part, if the answers are a dataset of their own.
CREATE TABLE answers_of_part (
    part   INTEGER PRIMARY KEY,
    bytes  INTEGER NOT NULL,
    sha256 TEXT NOT NULL
) STRICT;

-- Corrected rows. The row that an ask was read from stays in its split; the newest correction takes its place.
CREATE TABLE correction (
    id           INTEGER PRIMARY KEY,
    ask          INTEGER NOT NULL,
    row          TEXT NOT NULL,            -- JSON: the corrected row, in the form of the rows of a split
    failure      TEXT NOT NULL,            -- JSON: why the ask had failed
    file         TEXT NOT NULL,            -- SHA-256 of the file with the corrections
    corrected_by TEXT NOT NULL,
    corrected_at INTEGER NOT NULL
) STRICT;
CREATE INDEX correction_of_ask ON correction (ask);

-- Answers of a check resemble each other. Its first answers are the dictionary with which later ones are compressed.
CREATE TABLE dictionary (
    id         INTEGER PRIMARY KEY, -- the first 32 bits of the SHA-256 of the check's name and the text
    check_name TEXT NOT NULL,      -- catalogue name
    text       BLOB NOT NULL       -- the beginnings of the first answers
) STRICT;

-- Answered requests whose recorded verdict is not that of the rules with which their asks are published.
CREATE TABLE judged_again (request INTEGER PRIMARY KEY) STRICT;

-- Asks whose matches were all accepted before, with the numbers of the decisions. Recorded before their part is written.
CREATE TABLE accepted (
    ask       INTEGER PRIMARY KEY,
    decisions TEXT NOT NULL                -- JSON: a list of numbers
) STRICT;

-- The decisions that a part was made with: how many, and the digest of the last.
CREATE TABLE decisions_of_part (
    part  INTEGER PRIMARY KEY,
    count INTEGER NOT NULL,
    chain TEXT NOT NULL
) STRICT;

-- Requests that were not sent, because an earlier campaign has the answer.
CREATE TABLE reused (
    request  INTEGER PRIMARY KEY,
    campaign TEXT NOT NULL                 -- the campaign that sent it
) STRICT;

-- Purges: whole campaigns or single subjects whose personal data was removed. After one, the ledger takes nothing new.
CREATE TABLE purge (
    id          INTEGER PRIMARY KEY,
    scope       TEXT NOT NULL,             -- everything or subjects
    rows        INTEGER NOT NULL,
    asks        INTEGER NOT NULL,
    requests    INTEGER NOT NULL,
    reason      TEXT,
    purged_by   TEXT NOT NULL,
    purged_at   INTEGER NOT NULL,
    finished_at INTEGER                    -- NULL until the outputs and the free pages have nothing of it either
) STRICT;

-- What is left of the asks of purged rows.
CREATE TABLE purged_ask (
    ask       INTEGER PRIMARY KEY,         -- the id that it had
    purge     INTEGER NOT NULL REFERENCES purge (id),
    split     INTEGER NOT NULL,
    row_index INTEGER NOT NULL,
    check_use INTEGER,
    request   INTEGER,
    dataset   TEXT NOT NULL,               -- the one that it was in
    part      INTEGER,
    failure   TEXT                         -- the code
) STRICT;

-- Requests without fields, body and answer, because all their asks are purged.
CREATE TABLE purged_request (
    request INTEGER PRIMARY KEY,
    purge   INTEGER NOT NULL REFERENCES purge (id)
) STRICT;
