-- The charge book, for PostgreSQL 14 or later. `rescreen book init` creates it and owns it.
CREATE SCHEMA rescreen;

-- The timeline of the server. A standby that is promoted begins a new one, and may have lost the last commits.
CREATE FUNCTION rescreen.timeline() RETURNS text LANGUAGE sql
    AS 'SELECT pg_catalog.left(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()), 8)';

-- One row: the version of these tables.
CREATE TABLE rescreen.book (version integer NOT NULL, id uuid NOT NULL DEFAULT gen_random_uuid(), created_at timestamptz NOT NULL DEFAULT clock_timestamp());

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
    -- It grows when a partition holds more, and when the balance is read.
    money          bigint NOT NULL DEFAULT 0,
    -- The last reading of the balance, with the sums of all partitions at that time, in JSON.
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

-- The partitions of campaigns. One worker runs a partition at a time. Its ledger may be lost: the next one goes on with the same lines.
CREATE TABLE rescreen.partition (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    account    bigint NOT NULL REFERENCES rescreen.account,
    campaign   text NOT NULL,
    mode       text NOT NULL,
    -- Empty if the campaign is not divided.
    name       text NOT NULL,
    -- The fingerprint of the secret that keys are made with.
    key_secret text,
    -- The sums of its requests, in credits. `armed` is all that was ever held, and only grows.
    charged    bigint NOT NULL DEFAULT 0 CHECK (charged >= 0),
    held       bigint NOT NULL DEFAULT 0 CHECK (held >= 0),
    armed      bigint NOT NULL DEFAULT 0 CHECK (armed >= 0),
    -- It grows with each statement of its worker, so that one that arrives late changes nothing.
    turn       bigint NOT NULL DEFAULT 0,
    ledger     text NOT NULL,
    -- The machine and process that runs it or ran it last, and the random token of that run.
    worker     text NOT NULL,
    token      text NOT NULL,
    began_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    seen_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    left_at    timestamptz,
    -- What it has published: the totals of its manifest. Without a time, something has become of a request since.
    outputs    jsonb,
    published_at timestamptz,
    UNIQUE (account, campaign, mode, name)
) WITH (fillfactor = 20);

-- The partitions that a campaign should have, if someone has said so.
CREATE TABLE rescreen.campaign (
    account    bigint NOT NULL REFERENCES rescreen.account,
    campaign   text NOT NULL,
    mode       text NOT NULL,
    partitions text[] NOT NULL,
    who        text NOT NULL,
    at         timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (account, campaign, mode)
);

-- One line for each request that was ever sent, as its partition has told it last. `key` is made of the content, so the same content in
-- two partitions is one line.
CREATE TABLE rescreen.request (
    account    bigint NOT NULL REFERENCES rescreen.account,
    key        bytea NOT NULL,
    partition       bigint NOT NULL REFERENCES rescreen.partition,
    -- The ledger that has told it.
    ledger     text NOT NULL,
    -- 1: armed, 2: in doubt, 3: pending, 4: a job, 10: answered, 11: failed, 12: a person decides, 0: not sent after all.
    state      bigint NOT NULL,
    attempts   bigint NOT NULL,
    generation bigint NOT NULL,
    -- It grows with everything that is told of the request.
    revision   bigint NOT NULL,
    held       bigint NOT NULL CHECK (held >= 0),
    charged    bigint NOT NULL CHECK (charged >= 0),
    -- What a ledger needs to go on with it, in JSON.
    record     text NOT NULL,
    -- The bytes that were sent, until it is answered or has failed.
    body       bytea,
    -- The answer, compressed with zstd.
    answer     bytea,
    PRIMARY KEY (account, key)
) WITH (fillfactor = 70);
ALTER TABLE rescreen.request ALTER COLUMN answer SET STORAGE EXTERNAL;
CREATE INDEX request_of_partition ON rescreen.request (partition, state) WHERE state NOT IN (10, 11);

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
GRANT SELECT, INSERT, UPDATE ON rescreen.account, rescreen.worker, rescreen.campaign, rescreen.partition, rescreen.request TO rescreen_worker;
GRANT SELECT, INSERT ON rescreen.note TO rescreen_worker;

INSERT INTO rescreen.book (version) VALUES (1);
