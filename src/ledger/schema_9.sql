-- What version 9 adds, so that a ledger of version 8 can be upgraded by creating these tables.

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
