-- Every row of the newest round about a subject and check. Invented answers never replace real ones. A round is as old as its
-- first answer, because its failed rows may be corrected after the next round.
with rounds as (
    select *, min(completed_at) over (partition by mode, campaign) as round_at
    from {{ ref('stg_results') }}
),

newest as (
    select *
    from rounds
    qualify dense_rank() over (
        partition by mode, coalesce(subject, result_id), check_name
        order by round_at desc, campaign desc
    ) = 1
)

select result_id, campaign, mode, subject, check_name, verdict, finding, completed_at
from newest
where verdict in ('review', 'adverse')
