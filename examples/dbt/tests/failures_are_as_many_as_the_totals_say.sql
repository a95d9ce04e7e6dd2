-- A row that could not be read is in the failures once, for all checks.
with counted as (
    select campaign, count(*) as failures
    from {{ ref('stg_failures') }}
    group by all
),

stated as (
    select campaign, sum(failures) + any_value(unreadable_rows) as failures
    from {{ ref('stg_totals') }}
    group by all
)

select stated.campaign, stated.failures as in_totals, coalesce(counted.failures, 0) as in_files
from stated
left join counted using (campaign)
where stated.failures <> coalesce(counted.failures, 0)
