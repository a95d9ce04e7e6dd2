-- The deliveries of the service to the receivers of this machine. It is separate from every ledger, because a
-- receiver writes while campaigns run.

-- One line. Campaigns note it with the number of the last event that they have read, because the numbers begin at 1 in
-- each inbox.
CREATE TABLE identity (
    id TEXT NOT NULL                 -- random
) STRICT;

-- Their ids are part of the URLs that the service delivers to.
CREATE TABLE receiver (
    id      TEXT PRIMARY KEY,
    secret  TEXT NOT NULL,
    made_at INTEGER NOT NULL         -- microseconds since 1970
) STRICT;

-- The campaigns whose requests name a receiver. A new ledger of a campaign names the first one again, because a request
-- that is sent again must have the same body.
CREATE TABLE named_by (
    campaign TEXT NOT NULL,
    mode     TEXT NOT NULL,
    scope    TEXT NOT NULL,          -- the fingerprint of the API key
    base     TEXT NOT NULL,          -- the public URL, without path and id
    receiver TEXT NOT NULL,
    named_at INTEGER NOT NULL,       -- microseconds since 1970
    PRIMARY KEY (campaign, mode, scope, base, receiver)
) STRICT, WITHOUT ROWID;

-- One line for each event. A second delivery of an event changes nothing.
CREATE TABLE event (
    number      INTEGER PRIMARY KEY AUTOINCREMENT, -- in the order of arrival; never used again
    receiver    TEXT NOT NULL,
    event_id    TEXT NOT NULL,
    kind        TEXT NOT NULL,
    job_id      TEXT,
    body        BLOB NOT NULL,       -- the exact bytes that were signed
    received_at INTEGER NOT NULL,    -- microseconds since 1970
    UNIQUE (receiver, event_id)
) STRICT;
