-- What version 8 adds, so that a ledger of version 7 can be upgraded by creating this table.

-- The runs of the campaign and how each ended. A run without an end is under way, or was killed.
CREATE TABLE run (
    id             INTEGER PRIMARY KEY,
    command        TEXT NOT NULL,          -- run or collect
    program        TEXT NOT NULL,          -- version of rescreen
    started_at     INTEGER NOT NULL,
    ended_at       INTEGER,
    exit_code      INTEGER,
    kind           TEXT,                   -- see model::StopKind; NULL if nothing stopped it
    message        TEXT,
    next_command   TEXT,                   -- as a user can copy it
    credits_needed INTEGER                 -- the limit that suffices, if the limit stopped it
) STRICT;
