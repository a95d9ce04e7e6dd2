CREATE TABLE IF NOT EXISTS results_said_verification (
    result_id STRING NOT NULL COMMENT 'Identifies the row and the check, across runs and formats: 32 hexadecimal characters.',
    campaign STRING NOT NULL COMMENT 'The campaign\'s name.',
    mode STRING NOT NULL COMMENT 'production, sandbox or simulated.',
    check_name STRING NOT NULL COMMENT 'The check\'s name in the campaign.',
    subject STRING COMMENT 'The value of the column that [input] id names.',
    verdict STRING NOT NULL COMMENT 'clear, adverse, review, not_found, data or unrecognised.',
    finding STRING NOT NULL COMMENT 'The reason for the verdict, as a short code such as name_match.',
    id_status STRING COMMENT 'From the answer: /realTimeResults/Status.',
    first_names STRING COMMENT 'From the answer: /realTimeResults/Verification/Firstnames.',
    last_name STRING COMMENT 'From the answer: /realTimeResults/Verification/Lastname.',
    date_of_birth DATE COMMENT 'From the answer: /realTimeResults/Verification/Dob.',
    age BIGINT COMMENT 'From the answer: /realTimeResults/Verification/Age.',
    gender STRING COMMENT 'From the answer: /realTimeResults/Verification/Gender.',
    citizenship STRING COMMENT 'From the answer: /realTimeResults/Verification/Citizenship.',
    date_issued STRING COMMENT 'From the answer: /realTimeResults/Verification/DateIssued.',
    transaction_id STRING COMMENT 'From the answer: /realTimeResults/transaction_id or /transaction_id.',
    report_status STRING COMMENT 'From the answer: /Status.',
    register_environment STRING COMMENT 'From the answer: /meta/environment.',
    register_answered_at TIMESTAMP COMMENT 'From the answer: /meta/timestamp.',
    completed_at TIMESTAMP NOT NULL COMMENT 'When the answer arrived.',
    credits BIGINT NOT NULL COMMENT 'What was charged for this row.',
    answer_source STRING NOT NULL COMMENT 'sent, duplicate if another row with the same content was sent, or reused if the answer is that of an earlier round.',
    request_id STRING COMMENT 'The service\'s identifier of the request.',
    idempotency_key STRING NOT NULL COMMENT 'The Idempotency-Key that was sent.',
    source STRING NOT NULL COMMENT 'The input file.',
    row_number BIGINT NOT NULL COMMENT 'The number of the row in its input, from 1, without the header.',
    http_status BIGINT COMMENT 'The HTTP status of the answer.',
    attempts BIGINT NOT NULL COMMENT 'How many times the request was sent.',
    latency_ms BIGINT COMMENT 'How long the last attempt took.',
    requested_at TIMESTAMP COMMENT 'When the last attempt was sent.',
    sent STRING NOT NULL COMMENT 'The fields that were sent.',
    answer STRING NOT NULL COMMENT 'The whole answer, unchanged except for images, secret fields, and numbers that are not JSON, such as NaN, which become texts.',
    answer_digest STRING NOT NULL COMMENT 'The same for two answers that say the same: 32 hexadecimal characters.',
    decisions STRING COMMENT 'The numbers of the decisions that accepted all matches of the answer, if its finding is accepted_before.',
    reused_from STRING COMMENT 'The campaign whose answer is used again.'
)
USING PARQUET
COMMENT 'Answers of the check said-verification: one line for each row.';

CREATE TABLE IF NOT EXISTS failures (
    result_id STRING NOT NULL COMMENT 'Identifies the row and the check, across runs and formats: 32 hexadecimal characters.',
    campaign STRING NOT NULL COMMENT 'The campaign\'s name.',
    mode STRING NOT NULL COMMENT 'production, sandbox or simulated.',
    check_name STRING COMMENT 'The check\'s name in the campaign.',
    subject STRING COMMENT 'The value of the column that [input] id names.',
    stage STRING NOT NULL COMMENT 'Where the row failed: read, map, send or resolve.',
    code STRING NOT NULL COMMENT 'Why the row failed, as a short code.',
    message STRING NOT NULL COMMENT 'What was expected, what was found, and what to do.',
    http_status BIGINT COMMENT 'The HTTP status of the last reply, if there was one.',
    attempts BIGINT NOT NULL COMMENT 'How many times the request was sent.',
    possibly_charged BOOLEAN NOT NULL COMMENT 'Whether the service may have charged for it.',
    retryable BOOLEAN NOT NULL COMMENT 'Whether run --retry sends it again.',
    source STRING NOT NULL COMMENT 'The input file.',
    row_number BIGINT NOT NULL COMMENT 'The number of the row in its input, from 1.',
    line BIGINT NOT NULL COMMENT 'The line at which the row begins, from 1.',
    byte_offset BIGINT NOT NULL COMMENT 'The offset at which the row begins in the decompressed UTF-8 text.',
    idempotency_key STRING COMMENT 'The key of the request, if there is one.',
    input STRING NOT NULL COMMENT 'The row, as it was read.'
)
USING PARQUET
COMMENT 'Rows that could not be read or mapped, or got no answer.';

CREATE TABLE IF NOT EXISTS pending (
    result_id STRING NOT NULL COMMENT 'Identifies the row and the check, across runs and formats: 32 hexadecimal characters.',
    campaign STRING NOT NULL COMMENT 'The campaign\'s name.',
    mode STRING NOT NULL COMMENT 'production, sandbox or simulated.',
    check_name STRING NOT NULL COMMENT 'The check\'s name in the campaign.',
    subject STRING COMMENT 'The value of the column that [input] id names.',
    reason STRING NOT NULL COMMENT 'unsent, in_doubt, repeating, quarantined, answered (its result will be in the next file), unrecognised (answered and charged, but no rule recognises the answer) or service_job (the service accepted it as a job and answers later; it is not sent again).',
    job_id STRING COMMENT 'The service\'s job, for the reason service_job.',
    deadline TIMESTAMP COMMENT 'The time until which another run can settle it without a new charge: two hours before the service forgets its key, after which nothing is sent again.',
    credits BIGINT COMMENT 'What was charged for this row, if it is answered.',
    answer STRING COMMENT 'The answer that no rule recognises.',
    source STRING NOT NULL COMMENT 'The name of the input.',
    row_number BIGINT NOT NULL COMMENT 'The number of the row in it, from 1.'
)
USING PARQUET
COMMENT 'Rows that are not settled yet.';

CREATE TABLE IF NOT EXISTS skipped (
    result_id STRING NOT NULL COMMENT 'Identifies the row and the check, across runs and formats: 32 hexadecimal characters.',
    campaign STRING NOT NULL COMMENT 'The campaign\'s name.',
    mode STRING NOT NULL COMMENT 'production, sandbox or simulated.',
    check_name STRING NOT NULL COMMENT 'The check\'s name in the campaign.',
    subject STRING COMMENT 'The value of the column that [input] id names.',
    reason STRING NOT NULL COMMENT 'Why the row was not checked: when: and the expression.',
    source STRING NOT NULL COMMENT 'The name of the input.',
    row_number BIGINT NOT NULL COMMENT 'The number of the row in it, from 1.'
)
USING PARQUET
COMMENT 'Rows that the condition of the check left out.';
