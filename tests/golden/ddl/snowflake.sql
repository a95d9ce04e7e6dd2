CREATE TABLE IF NOT EXISTS results_said_verification (
    result_id VARCHAR NOT NULL COMMENT 'Identifies the row and the check, across runs and formats: 32 hexadecimal characters.',
    campaign VARCHAR NOT NULL COMMENT 'The campaign''s name.',
    mode VARCHAR NOT NULL COMMENT 'production, sandbox or simulated.',
    check_name VARCHAR NOT NULL COMMENT 'The check''s name in the campaign.',
    subject VARCHAR COMMENT 'The value of the column that [input] id names.',
    verdict VARCHAR NOT NULL COMMENT 'clear, adverse, review, not_found, data or unrecognised.',
    finding VARCHAR NOT NULL COMMENT 'The reason for the verdict, as a short code such as name_match.',
    id_status VARCHAR COMMENT 'From the answer: /realTimeResults/Status.',
    first_names VARCHAR COMMENT 'From the answer: /realTimeResults/Verification/Firstnames.',
    last_name VARCHAR COMMENT 'From the answer: /realTimeResults/Verification/Lastname.',
    date_of_birth DATE COMMENT 'From the answer: /realTimeResults/Verification/Dob.',
    age NUMBER(19, 0) COMMENT 'From the answer: /realTimeResults/Verification/Age.',
    gender VARCHAR COMMENT 'From the answer: /realTimeResults/Verification/Gender.',
    citizenship VARCHAR COMMENT 'From the answer: /realTimeResults/Verification/Citizenship.',
    date_issued VARCHAR COMMENT 'From the answer: /realTimeResults/Verification/DateIssued.',
    transaction_id VARCHAR COMMENT 'From the answer: /realTimeResults/transaction_id or /transaction_id.',
    report_status VARCHAR COMMENT 'From the answer: /Status.',
    register_environment VARCHAR COMMENT 'From the answer: /meta/environment.',
    register_answered_at TIMESTAMP_TZ(6) COMMENT 'From the answer: /meta/timestamp.',
    completed_at TIMESTAMP_TZ(6) NOT NULL COMMENT 'When the answer arrived.',
    credits NUMBER(19, 0) NOT NULL COMMENT 'What was charged for this row.',
    answer_source VARCHAR NOT NULL COMMENT 'sent, duplicate if another row with the same content was sent, or reused if the answer is that of an earlier round.',
    request_id VARCHAR COMMENT 'The service''s identifier of the request.',
    idempotency_key VARCHAR NOT NULL COMMENT 'The Idempotency-Key that was sent.',
    source VARCHAR NOT NULL COMMENT 'The input file.',
    row_number NUMBER(19, 0) NOT NULL COMMENT 'The number of the row in its input, from 1, without the header.',
    http_status NUMBER(19, 0) COMMENT 'The HTTP status of the answer.',
    attempts NUMBER(19, 0) NOT NULL COMMENT 'How many times the request was sent.',
    latency_ms NUMBER(19, 0) COMMENT 'How long the last attempt took.',
    requested_at TIMESTAMP_TZ(6) COMMENT 'When the last attempt was sent.',
    sent VARIANT NOT NULL COMMENT 'The fields that were sent.',
    answer VARIANT NOT NULL COMMENT 'The whole answer, unchanged except for images, secret fields, and numbers that are not JSON, such as NaN, which become texts.',
    answer_digest VARCHAR NOT NULL COMMENT 'The same for two answers that say the same: 32 hexadecimal characters.',
    decisions VARIANT COMMENT 'The numbers of the decisions that accepted all matches of the answer, if its finding is accepted_before.',
    reused_from VARCHAR COMMENT 'The campaign whose answer is used again.'
)
COMMENT = 'Answers of the check said-verification: one line for each row.';

CREATE TABLE IF NOT EXISTS failures (
    result_id VARCHAR NOT NULL COMMENT 'Identifies the row and the check, across runs and formats: 32 hexadecimal characters.',
    campaign VARCHAR NOT NULL COMMENT 'The campaign''s name.',
    mode VARCHAR NOT NULL COMMENT 'production, sandbox or simulated.',
    check_name VARCHAR COMMENT 'The check''s name in the campaign.',
    subject VARCHAR COMMENT 'The value of the column that [input] id names.',
    stage VARCHAR NOT NULL COMMENT 'Where the row failed: read, map, send or resolve.',
    code VARCHAR NOT NULL COMMENT 'Why the row failed, as a short code.',
    message VARCHAR NOT NULL COMMENT 'What was expected, what was found, and what to do.',
    http_status NUMBER(19, 0) COMMENT 'The HTTP status of the last reply, if there was one.',
    attempts NUMBER(19, 0) NOT NULL COMMENT 'How many times the request was sent.',
    possibly_charged BOOLEAN NOT NULL COMMENT 'Whether the service may have charged for it.',
    retryable BOOLEAN NOT NULL COMMENT 'Whether run --retry sends it again.',
    source VARCHAR NOT NULL COMMENT 'The input file.',
    row_number NUMBER(19, 0) NOT NULL COMMENT 'The number of the row in its input, from 1.',
    line NUMBER(19, 0) NOT NULL COMMENT 'The line at which the row begins, from 1.',
    byte_offset NUMBER(19, 0) NOT NULL COMMENT 'The offset at which the row begins in the decompressed UTF-8 text.',
    idempotency_key VARCHAR COMMENT 'The key of the request, if there is one.',
    input VARIANT NOT NULL COMMENT 'The row, as it was read.'
)
COMMENT = 'Rows that could not be read or mapped, or got no answer.';

CREATE TABLE IF NOT EXISTS pending (
    result_id VARCHAR NOT NULL COMMENT 'Identifies the row and the check, across runs and formats: 32 hexadecimal characters.',
    campaign VARCHAR NOT NULL COMMENT 'The campaign''s name.',
    mode VARCHAR NOT NULL COMMENT 'production, sandbox or simulated.',
    check_name VARCHAR NOT NULL COMMENT 'The check''s name in the campaign.',
    subject VARCHAR COMMENT 'The value of the column that [input] id names.',
    reason VARCHAR NOT NULL COMMENT 'unsent, in_doubt, repeating, quarantined, answered (its result will be in the next file), unrecognised (answered and charged, but no rule recognises the answer) or service_job (the service accepted it as a job and answers later; it is not sent again).',
    job_id VARCHAR COMMENT 'The service''s job, for the reason service_job.',
    deadline TIMESTAMP_TZ(6) COMMENT 'The time until which another run can settle it without a new charge: two hours before the service forgets its key, after which nothing is sent again.',
    credits NUMBER(19, 0) COMMENT 'What was charged for this row, if it is answered.',
    answer VARIANT COMMENT 'The answer that no rule recognises.',
    source VARCHAR NOT NULL COMMENT 'The name of the input.',
    row_number NUMBER(19, 0) NOT NULL COMMENT 'The number of the row in it, from 1.'
)
COMMENT = 'Rows that are not settled yet.';

CREATE TABLE IF NOT EXISTS skipped (
    result_id VARCHAR NOT NULL COMMENT 'Identifies the row and the check, across runs and formats: 32 hexadecimal characters.',
    campaign VARCHAR NOT NULL COMMENT 'The campaign''s name.',
    mode VARCHAR NOT NULL COMMENT 'production, sandbox or simulated.',
    check_name VARCHAR NOT NULL COMMENT 'The check''s name in the campaign.',
    subject VARCHAR COMMENT 'The value of the column that [input] id names.',
    reason VARCHAR NOT NULL COMMENT 'Why the row was not checked: when: and the expression.',
    source VARCHAR NOT NULL COMMENT 'The name of the input.',
    row_number NUMBER(19, 0) NOT NULL COMMENT 'The number of the row in it, from 1.'
)
COMMENT = 'Rows that the condition of the check left out.';
