select campaign, mode, check_name, verdict, finding, count(*) as answers, sum(credits) as credits
from {{ ref('stg_results') }}
group by all
