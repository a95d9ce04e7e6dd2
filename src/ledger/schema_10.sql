-- What version 10 changes, so that a ledger of version 9 can be upgraded by executing this.

-- Answers of a check resemble each other. Its first answers are the dictionary with which later ones are compressed.
CREATE TABLE dictionary (
    id         INTEGER PRIMARY KEY, -- the first 32 bits of the SHA-256 of the check's name and the text
    check_name TEXT NOT NULL,      -- catalogue name
    text       BLOB NOT NULL       -- the beginnings of the first answers
) STRICT;

-- Answered requests whose recorded verdict is not that of the rules with which their asks are published.
CREATE TABLE judged_again (request INTEGER PRIMARY KEY) STRICT;
INSERT INTO judged_again SELECT id FROM request WHERE state = 10;

-- A request that is sent and answered leaves these indexes once, when it is armed.
DROP INDEX request_unanswered;
DROP INDEX request_sent_before;
CREATE INDEX request_in_state ON request (state, id) WHERE state NOT IN (1, 10);
CREATE INDEX request_waiting ON request (state, last_attempt) WHERE state NOT IN (1, 10) AND attempts > 0;

-- Earlier releases kept the files of a request that they deleted. A later request could get its id.
DELETE FROM attachment WHERE request NOT IN (SELECT id FROM request);
DELETE FROM other_path WHERE request NOT IN (SELECT id FROM request);
DELETE FROM upload WHERE request NOT IN (SELECT id FROM request);
