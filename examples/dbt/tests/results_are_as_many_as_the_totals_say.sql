-- Each row that this returns is a check whose files and totals disagree.
with counted as (
    select campaign, mode, check_name, count(*) as results
    from {{ ref('stg_results') }}
    group by all
)

select totals.campaign, totals.mode, totals.check_name, totals.results as in_totals, coalesce(counted.results, 0) as in_files
from {{ ref('stg_totals') }} as totals
left join counted using (campaign, mode, check_name)
where totals.results <> coalesce(counted.results, 0)
