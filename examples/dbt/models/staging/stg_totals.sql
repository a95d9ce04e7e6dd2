with checks as (
    select
        campaign,
        mode,
        complete,
        input.unreadable_rows as unreadable_rows,
        unnest(totals) as total
    from {{ source('rescreen', 'manifest') }}
)

select
    campaign,
    mode,
    complete,
    unreadable_rows,
    total."check" as check_name,
    total.asks as asks,
    total.results as results,
    total.failures as failures,
    total.pending as pending,
    total.skipped as skipped,
    total.credits as credits
from checks
