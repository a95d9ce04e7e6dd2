select
    result_id,
    campaign,
    mode,
    check_name,
    subject,
    stage,
    code,
    message,
    possibly_charged,
    retryable,
    source,
    row_number,
    line
from {{ source('rescreen', 'failures') }}
