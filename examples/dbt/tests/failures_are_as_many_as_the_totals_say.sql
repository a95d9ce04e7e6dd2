-- A row that could not be read is in the failures once, for all checks.
with counted as (
    select campaign, mode, count(*) as failures
    from {{ ref('stg_failures') }}
    group by all
),

stated as (
    select campaign, mode, sum(failures) + any_value(unreadable_rows) as failures
    from {{ ref('stg_totals') }}
    group by all
)

select stated.campaign, stated.mode, stated.failures as in_totals, coalesce(counted.failures, 0) as in_files
from stated
left join counted using (campaign, mode)
where stated.failures <> coalesce(counted.failures, 0)
