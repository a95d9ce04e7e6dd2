-- The charge book, for PostgreSQL 14 or later. `rescreen book init` creates it and owns it.
CREATE SCHEMA rescreen;

-- The timeline of the server. A standby that is promoted begins a new one, and may have lost the last commits.
CREATE FUNCTION rescreen.timeline() RETURNS text LANGUAGE sql
    AS 'SELECT pg_catalog.left(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()), 8)';

-- One row: the version of these tables.
CREATE TABLE rescreen.book (version integer NOT NULL, created_at timestamptz NOT NULL DEFAULT clock_timestamp());

-- An account at a service. It outlives its API keys. `version` grows with every change of
-- what may be sent, and a change is only made to the version that it was decided for.
CREATE TABLE rescreen.account (
    id             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    origin         text NOT NULL,
    name           text NOT NULL,
    per_minute     bigint NOT NULL,
    per_minute_max bigint NOT NULL,
    version        bigint NOT NULL DEFAULT 0,
    -- What the account has used of its rate, as the throttle writes it.
    record         bytea,
    -- The timeline of the server that the record was written on. Another one means that a standby was promoted.
    timeline       text,
    paused_until   timestamptz,
    -- Why no worker sends, in JSON. Only a person removes it.
    halt           text,
    -- It grows when a ledger states more, and when the balance is read.
    money          bigint NOT NULL DEFAULT 0,
    -- The last reading of the balance, with the totals of all ledgers at that time, in JSON.
    reading        text,
    UNIQUE (origin, name)
) WITH (fillfactor = 10);

-- The processes that use an account.
CREATE TABLE rescreen.worker (
    id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    account bigint NOT NULL REFERENCES rescreen.account,
    -- Its machine and process.
    name    text NOT NULL,
    campaign text,
    began_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    seen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    left_at timestamptz
) WITH (fillfactor = 50);
CREATE INDEX worker_here ON rescreen.worker (account) WHERE left_at IS NULL;

-- What each ledger has used, in credits, as it stated last. These are totals: stating them twice changes nothing. A ledger
-- that is lost stays, because what it used was used.
CREATE TABLE rescreen.ledger (
    account   bigint NOT NULL REFERENCES rescreen.account,
    id        text NOT NULL,
    campaign  text NOT NULL,
    mode      text NOT NULL,
    charged   bigint NOT NULL CHECK (charged >= 0),
    held      bigint NOT NULL CHECK (held >= 0),
    armed     bigint NOT NULL CHECK (armed >= 0),
    -- How many attempts it has made. An older copy of the ledger has made fewer.
    attempts  bigint NOT NULL CHECK (attempts >= 0),
    -- How often it was stated. An older statement that arrives late is ignored.
    times     bigint NOT NULL,
    stated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (account, id)
) WITH (fillfactor = 50);

-- What people decided, and when an account was halted. Rows are only added.
CREATE TABLE rescreen.note (
    id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    account bigint NOT NULL REFERENCES rescreen.account,
    at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    who     text NOT NULL,
    what    text NOT NULL,
    why     text NOT NULL
);

-- Workers are members of this role. They change rows and no tables, and remove nothing.
DO $$ BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'rescreen_worker') THEN
        CREATE ROLE rescreen_worker NOLOGIN;
    END IF;
END $$;
GRANT USAGE ON SCHEMA rescreen TO rescreen_worker;
GRANT SELECT ON rescreen.book TO rescreen_worker;
GRANT SELECT, INSERT, UPDATE ON rescreen.account, rescreen.worker, rescreen.ledger TO rescreen_worker;
GRANT SELECT, INSERT ON rescreen.note TO rescreen_worker;

INSERT INTO rescreen.book (version) VALUES (1);
