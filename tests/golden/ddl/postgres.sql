CREATE TABLE IF NOT EXISTS results_said_verification (
    result_id TEXT NOT NULL PRIMARY KEY,
    campaign TEXT NOT NULL,
    mode TEXT NOT NULL,
    check_name TEXT NOT NULL,
    subject TEXT,
    verdict TEXT NOT NULL,
    finding TEXT NOT NULL,
    id_status TEXT,
    first_names TEXT,
    last_name TEXT,
    date_of_birth DATE,
    age BIGINT,
    gender TEXT,
    citizenship TEXT,
    date_issued TEXT,
    transaction_id TEXT,
    report_status TEXT,
    register_environment TEXT,
    register_answered_at TIMESTAMP WITH TIME ZONE,
    completed_at TIMESTAMP WITH TIME ZONE NOT NULL,
    credits BIGINT NOT NULL,
    answer_source TEXT NOT NULL,
    request_id TEXT,
    idempotency_key TEXT NOT NULL,
    source TEXT NOT NULL,
    row_number BIGINT NOT NULL,
    http_status BIGINT,
    attempts BIGINT NOT NULL,
    latency_ms BIGINT,
    requested_at TIMESTAMP WITH TIME ZONE,
    sent JSONB NOT NULL,
    answer JSONB NOT NULL,
    answer_digest TEXT NOT NULL,
    decisions JSONB,
    reused_from TEXT
);
COMMENT ON TABLE results_said_verification IS 'Answers of the check said-verification: one line for each row.';
COMMENT ON COLUMN results_said_verification.result_id IS 'Identifies the row and the check, across runs and formats: 32 hexadecimal characters.';
COMMENT ON COLUMN results_said_verification.campaign IS 'The campaign''s name.';
COMMENT ON COLUMN results_said_verification.mode IS 'production, sandbox or simulated.';
COMMENT ON COLUMN results_said_verification.check_name IS 'The check''s name in the campaign.';
COMMENT ON COLUMN results_said_verification.subject IS 'The value of the column that [input] id names.';
COMMENT ON COLUMN results_said_verification.verdict IS 'clear, adverse, review, not_found, data or unrecognised.';
COMMENT ON COLUMN results_said_verification.finding IS 'The reason for the verdict, as a short code such as name_match.';
COMMENT ON COLUMN results_said_verification.id_status IS 'From the answer: /realTimeResults/Status.';
COMMENT ON COLUMN results_said_verification.first_names IS 'From the answer: /realTimeResults/Verification/Firstnames.';
COMMENT ON COLUMN results_said_verification.last_name IS 'From the answer: /realTimeResults/Verification/Lastname.';
COMMENT ON COLUMN results_said_verification.date_of_birth IS 'From the answer: /realTimeResults/Verification/Dob.';
COMMENT ON COLUMN results_said_verification.age IS 'From the answer: /realTimeResults/Verification/Age.';
COMMENT ON COLUMN results_said_verification.gender IS 'From the answer: /realTimeResults/Verification/Gender.';
COMMENT ON COLUMN results_said_verification.citizenship IS 'From the answer: /realTimeResults/Verification/Citizenship.';
COMMENT ON COLUMN results_said_verification.date_issued IS 'From the answer: /realTimeResults/Verification/DateIssued.';
COMMENT ON COLUMN results_said_verification.transaction_id IS 'From the answer: /realTimeResults/transaction_id or /transaction_id.';
COMMENT ON COLUMN results_said_verification.report_status IS 'From the answer: /Status.';
COMMENT ON COLUMN results_said_verification.register_environment IS 'From the answer: /meta/environment.';
COMMENT ON COLUMN results_said_verification.register_answered_at IS 'From the answer: /meta/timestamp.';
COMMENT ON COLUMN results_said_verification.completed_at IS 'When the answer arrived.';
COMMENT ON COLUMN results_said_verification.credits IS 'What was charged for this row.';
COMMENT ON COLUMN results_said_verification.answer_source IS 'sent, duplicate if another row with the same content was sent, or reused if the answer is that of an earlier round.';
COMMENT ON COLUMN results_said_verification.request_id IS 'The service''s identifier of the request.';
COMMENT ON COLUMN results_said_verification.idempotency_key IS 'The Idempotency-Key that was sent.';
COMMENT ON COLUMN results_said_verification.source IS 'The input file.';
COMMENT ON COLUMN results_said_verification.row_number IS 'The number of the row in its input, from 1, without the header.';
COMMENT ON COLUMN results_said_verification.http_status IS 'The HTTP status of the answer.';
COMMENT ON COLUMN results_said_verification.attempts IS 'How many times the request was sent.';
COMMENT ON COLUMN results_said_verification.latency_ms IS 'How long the last attempt took.';
COMMENT ON COLUMN results_said_verification.requested_at IS 'When the last attempt was sent.';
COMMENT ON COLUMN results_said_verification.sent IS 'The fields that were sent.';
COMMENT ON COLUMN results_said_verification.answer IS 'The whole answer, unchanged except for images, secret fields, and numbers that are not JSON, such as NaN, which become texts.';
COMMENT ON COLUMN results_said_verification.answer_digest IS 'The same for two answers that say the same: 32 hexadecimal characters.';
COMMENT ON COLUMN results_said_verification.decisions IS 'The numbers of the decisions that accepted all matches of the answer, if its finding is accepted_before.';
COMMENT ON COLUMN results_said_verification.reused_from IS 'The campaign whose answer is used again.';

CREATE TABLE IF NOT EXISTS failures (
    result_id TEXT NOT NULL PRIMARY KEY,
    campaign TEXT NOT NULL,
    mode TEXT NOT NULL,
    check_name TEXT,
    subject TEXT,
    stage TEXT NOT NULL,
    code TEXT NOT NULL,
    message TEXT NOT NULL,
    http_status BIGINT,
    attempts BIGINT NOT NULL,
    possibly_charged BOOLEAN NOT NULL,
    retryable BOOLEAN NOT NULL,
    source TEXT NOT NULL,
    row_number BIGINT NOT NULL,
    line BIGINT NOT NULL,
    byte_offset BIGINT NOT NULL,
    idempotency_key TEXT,
    input JSONB NOT NULL
);
COMMENT ON TABLE failures IS 'Rows that could not be read or mapped, or got no answer.';
COMMENT ON COLUMN failures.result_id IS 'Identifies the row and the check, across runs and formats: 32 hexadecimal characters.';
COMMENT ON COLUMN failures.campaign IS 'The campaign''s name.';
COMMENT ON COLUMN failures.mode IS 'production, sandbox or simulated.';
COMMENT ON COLUMN failures.check_name IS 'The check''s name in the campaign.';
COMMENT ON COLUMN failures.subject IS 'The value of the column that [input] id names.';
COMMENT ON COLUMN failures.stage IS 'Where the row failed: read, map, send or resolve.';
COMMENT ON COLUMN failures.code IS 'Why the row failed, as a short code.';
COMMENT ON COLUMN failures.message IS 'What was expected, what was found, and what to do.';
COMMENT ON COLUMN failures.http_status IS 'The HTTP status of the last reply, if there was one.';
COMMENT ON COLUMN failures.attempts IS 'How many times the request was sent.';
COMMENT ON COLUMN failures.possibly_charged IS 'Whether the service may have charged for it.';
COMMENT ON COLUMN failures.retryable IS 'Whether run --retry sends it again.';
COMMENT ON COLUMN failures.source IS 'The input file.';
COMMENT ON COLUMN failures.row_number IS 'The number of the row in its input, from 1.';
COMMENT ON COLUMN failures.line IS 'The line at which the row begins, from 1.';
COMMENT ON COLUMN failures.byte_offset IS 'The offset at which the row begins in the decompressed UTF-8 text.';
COMMENT ON COLUMN failures.idempotency_key IS 'The key of the request, if there is one.';
COMMENT ON COLUMN failures.input IS 'The row, as it was read.';

CREATE TABLE IF NOT EXISTS pending (
    result_id TEXT NOT NULL PRIMARY KEY,
    campaign TEXT NOT NULL,
    mode TEXT NOT NULL,
    check_name TEXT NOT NULL,
    subject TEXT,
    reason TEXT NOT NULL,
    job_id TEXT,
    deadline TIMESTAMP WITH TIME ZONE,
    credits BIGINT,
    answer JSONB,
    source TEXT NOT NULL,
    row_number BIGINT NOT NULL
);
COMMENT ON TABLE pending IS 'Rows that are not settled yet.';
COMMENT ON COLUMN pending.result_id IS 'Identifies the row and the check, across runs and formats: 32 hexadecimal characters.';
COMMENT ON COLUMN pending.campaign IS 'The campaign''s name.';
COMMENT ON COLUMN pending.mode IS 'production, sandbox or simulated.';
COMMENT ON COLUMN pending.check_name IS 'The check''s name in the campaign.';
COMMENT ON COLUMN pending.subject IS 'The value of the column that [input] id names.';
COMMENT ON COLUMN pending.reason IS 'unsent, in_doubt, repeating, quarantined, answered (its result will be in the next file), unrecognised (answered and charged, but no rule recognises the answer) or service_job (the service accepted it as a job and answers later; it is not sent again).';
COMMENT ON COLUMN pending.job_id IS 'The service''s job, for the reason service_job.';
COMMENT ON COLUMN pending.deadline IS 'The time until which another run can settle it without a new charge: two hours before the service forgets its key, after which nothing is sent again.';
COMMENT ON COLUMN pending.credits IS 'What was charged for this row, if it is answered.';
COMMENT ON COLUMN pending.answer IS 'The answer that no rule recognises.';
COMMENT ON COLUMN pending.source IS 'The name of the input.';
COMMENT ON COLUMN pending.row_number IS 'The number of the row in it, from 1.';

CREATE TABLE IF NOT EXISTS skipped (
    result_id TEXT NOT NULL PRIMARY KEY,
    campaign TEXT NOT NULL,
    mode TEXT NOT NULL,
    check_name TEXT NOT NULL,
    subject TEXT,
    reason TEXT NOT NULL,
    source TEXT NOT NULL,
    row_number BIGINT NOT NULL
);
COMMENT ON TABLE skipped IS 'Rows that the condition of the check left out.';
COMMENT ON COLUMN skipped.result_id IS 'Identifies the row and the check, across runs and formats: 32 hexadecimal characters.';
COMMENT ON COLUMN skipped.campaign IS 'The campaign''s name.';
COMMENT ON COLUMN skipped.mode IS 'production, sandbox or simulated.';
COMMENT ON COLUMN skipped.check_name IS 'The check''s name in the campaign.';
COMMENT ON COLUMN skipped.subject IS 'The value of the column that [input] id names.';
COMMENT ON COLUMN skipped.reason IS 'Why the row was not checked: when: and the expression.';
COMMENT ON COLUMN skipped.source IS 'The name of the input.';
COMMENT ON COLUMN skipped.row_number IS 'The number of the row in it, from 1.';
