-- name: findings (what was found in turns of a session, in the order in which it was written)
select {{observations.columns}} from muniment.observations o
where o.space_id = %(space)s and o.session_id = %(session)s and o.turns && %(turns)s
order by o.rev, o.observation_id limit %(limit)s

-- name: turns (turns by their ids, in order)
select {{ledger.turn}} from muniment.turns t
where t.space_id = %(space)s and t.turn_id = any(%(turns)s)
order by t.at, t.turn_id

-- name: revisions (the revisions that the space had at these times, in their order; the journal is read once)
with o as materialized (
  select moment, n from unnest(%(moments)s::timestamptz[]) with ordinality t (moment, n)
), first as materialized (
  select coalesce(max(j.rev), 0) as rev from muniment.journal j
  where j.space_id = %(space)s and j.ts <= (select min(moment) from o)
), later as materialized (
  select j.rev, j.ts from muniment.journal j
  where j.space_id = %(space)s and j.rev > (select rev from first) and j.ts <= (select max(moment) from o)
)
select coalesce(max(l.rev), f.rev) as rev
from o cross join first f left join later l on l.ts <= o.moment group by o.n, f.rev order by o.n
