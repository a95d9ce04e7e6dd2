CREATE TABLE IF NOT EXISTS results_said_verification (
    result_id STRING NOT NULL OPTIONS (description = 'Identifies the row and the check, across runs and formats: 32 hexadecimal characters.'),
    campaign STRING NOT NULL OPTIONS (description = 'The campaign\'s name.'),
    mode STRING NOT NULL OPTIONS (description = 'production, sandbox or simulated.'),
    check_name STRING NOT NULL OPTIONS (description = 'The check\'s name in the campaign.'),
    subject STRING OPTIONS (description = 'The value of the column that [input] id names.'),
    verdict STRING NOT NULL OPTIONS (description = 'clear, adverse, review, not_found, data or unrecognised.'),
    finding STRING NOT NULL OPTIONS (description = 'The reason for the verdict, as a short code such as name_match.'),
    id_status STRING OPTIONS (description = 'From the answer: /realTimeResults/Status.'),
    first_names STRING OPTIONS (description = 'From the answer: /realTimeResults/Verification/Firstnames.'),
    last_name STRING OPTIONS (description = 'From the answer: /realTimeResults/Verification/Lastname.'),
    date_of_birth DATE OPTIONS (description = 'From the answer: /realTimeResults/Verification/Dob.'),
    age INT64 OPTIONS (description = 'From the answer: /realTimeResults/Verification/Age.'),
    gender STRING OPTIONS (description = 'From the answer: /realTimeResults/Verification/Gender.'),
    citizenship STRING OPTIONS (description = 'From the answer: /realTimeResults/Verification/Citizenship.'),
    date_issued STRING OPTIONS (description = 'From the answer: /realTimeResults/Verification/DateIssued.'),
    transaction_id STRING OPTIONS (description = 'From the answer: /realTimeResults/transaction_id or /transaction_id.'),
    report_status STRING OPTIONS (description = 'From the answer: /Status.'),
    register_environment STRING OPTIONS (description = 'From the answer: /meta/environment.'),
    register_answered_at TIMESTAMP OPTIONS (description = 'From the answer: /meta/timestamp.'),
    completed_at TIMESTAMP NOT NULL OPTIONS (description = 'When the answer arrived.'),
    credits INT64 NOT NULL OPTIONS (description = 'What was charged for this row.'),
    answer_source STRING NOT NULL OPTIONS (description = 'sent, duplicate if another row with the same content was sent, or reused if the answer is that of an earlier round.'),
    request_id STRING OPTIONS (description = 'The service\'s identifier of the request.'),
    idempotency_key STRING NOT NULL OPTIONS (description = 'The Idempotency-Key that was sent.'),
    source STRING NOT NULL OPTIONS (description = 'The input file.'),
    row_number INT64 NOT NULL OPTIONS (description = 'The number of the row in its input, from 1, without the header.'),
    http_status INT64 OPTIONS (description = 'The HTTP status of the answer.'),
    attempts INT64 NOT NULL OPTIONS (description = 'How many times the request was sent.'),
    latency_ms INT64 OPTIONS (description = 'How long the last attempt took.'),
    requested_at TIMESTAMP OPTIONS (description = 'When the last attempt was sent.'),
    sent JSON NOT NULL OPTIONS (description = 'The fields that were sent.'),
    answer JSON NOT NULL OPTIONS (description = 'The whole answer, unchanged except for images, secret fields, and numbers that are not JSON, such as NaN, which become texts.'),
    answer_digest STRING NOT NULL OPTIONS (description = 'The same for two answers that say the same: 32 hexadecimal characters.'),
    decisions JSON OPTIONS (description = 'The numbers of the decisions that accepted all matches of the answer, if its finding is accepted_before.'),
    reused_from STRING OPTIONS (description = 'The campaign whose answer is used again.')
)
OPTIONS (description = 'Answers of the check said-verification: one line for each row.');

CREATE TABLE IF NOT EXISTS failures (
    result_id STRING NOT NULL OPTIONS (description = 'Identifies the row and the check, across runs and formats: 32 hexadecimal characters.'),
    campaign STRING NOT NULL OPTIONS (description = 'The campaign\'s name.'),
    mode STRING NOT NULL OPTIONS (description = 'production, sandbox or simulated.'),
    check_name STRING OPTIONS (description = 'The check\'s name in the campaign.'),
    subject STRING OPTIONS (description = 'The value of the column that [input] id names.'),
    stage STRING NOT NULL OPTIONS (description = 'Where the row failed: read, map, send or resolve.'),
    code STRING NOT NULL OPTIONS (description = 'Why the row failed, as a short code.'),
    message STRING NOT NULL OPTIONS (description = 'What was expected, what was found, and what to do.'),
    http_status INT64 OPTIONS (description = 'The HTTP status of the last reply, if there was one.'),
    attempts INT64 NOT NULL OPTIONS (description = 'How many times the request was sent.'),
    possibly_charged BOOL NOT NULL OPTIONS (description = 'Whether the service may have charged for it.'),
    retryable BOOL NOT NULL OPTIONS (description = 'Whether run --retry sends it again.'),
    source STRING NOT NULL OPTIONS (description = 'The input file.'),
    row_number INT64 NOT NULL OPTIONS (description = 'The number of the row in its input, from 1.'),
    line INT64 NOT NULL OPTIONS (description = 'The line at which the row begins, from 1.'),
    byte_offset INT64 NOT NULL OPTIONS (description = 'The offset at which the row begins in the decompressed UTF-8 text.'),
    idempotency_key STRING OPTIONS (description = 'The key of the request, if there is one.'),
    input JSON NOT NULL OPTIONS (description = 'The row, as it was read.')
)
OPTIONS (description = 'Rows that could not be read or mapped, or got no answer.');

CREATE TABLE IF NOT EXISTS pending (
    result_id STRING NOT NULL OPTIONS (description = 'Identifies the row and the check, across runs and formats: 32 hexadecimal characters.'),
    campaign STRING NOT NULL OPTIONS (description = 'The campaign\'s name.'),
    mode STRING NOT NULL OPTIONS (description = 'production, sandbox or simulated.'),
    check_name STRING NOT NULL OPTIONS (description = 'The check\'s name in the campaign.'),
    subject STRING OPTIONS (description = 'The value of the column that [input] id names.'),
    reason STRING NOT NULL OPTIONS (description = 'unsent, in_doubt, repeating, quarantined, answered (its result will be in the next file), unrecognised (answered and charged, but no rule recognises the answer) or service_job (the service accepted it as a job and answers later; it is not sent again).'),
    job_id STRING OPTIONS (description = 'The service\'s job, for the reason service_job.'),
    deadline TIMESTAMP OPTIONS (description = 'The time until which another run can settle it without a new charge: two hours before the service forgets its key, after which nothing is sent again.'),
    credits INT64 OPTIONS (description = 'What was charged for this row, if it is answered.'),
    answer JSON OPTIONS (description = 'The answer that no rule recognises.'),
    source STRING NOT NULL OPTIONS (description = 'The name of the input.'),
    row_number INT64 NOT NULL OPTIONS (description = 'The number of the row in it, from 1.')
)
OPTIONS (description = 'Rows that are not settled yet.');

CREATE TABLE IF NOT EXISTS skipped (
    result_id STRING NOT NULL OPTIONS (description = 'Identifies the row and the check, across runs and formats: 32 hexadecimal characters.'),
    campaign STRING NOT NULL OPTIONS (description = 'The campaign\'s name.'),
    mode STRING NOT NULL OPTIONS (description = 'production, sandbox or simulated.'),
    check_name STRING NOT NULL OPTIONS (description = 'The check\'s name in the campaign.'),
    subject STRING OPTIONS (description = 'The value of the column that [input] id names.'),
    reason STRING NOT NULL OPTIONS (description = 'Why the row was not checked: when: and the expression.'),
    source STRING NOT NULL OPTIONS (description = 'The name of the input.'),
    row_number INT64 NOT NULL OPTIONS (description = 'The number of the row in it, from 1.')
)
OPTIONS (description = 'Rows that the condition of the check left out.');
