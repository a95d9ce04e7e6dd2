select *
from {{ ref('stg_totals') }}
where asks <> results + failures + pending + skipped
