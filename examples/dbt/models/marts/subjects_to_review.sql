with newest as (
    select *
    from {{ ref('stg_results') }}
    qualify row_number() over (
        partition by coalesce(subject, result_id), check_name
        order by completed_at desc, result_id
    ) = 1
)

select result_id, campaign, subject, check_name, verdict, finding, completed_at
from newest
where verdict in ('review', 'adverse')
