-- name: findings (what was found in turns of a session, in the order in which it was written)
select {{observations.columns}} from muniment.observations o
where o.space_id = %(space)s and o.session_id = %(session)s and o.turns && %(turns)s
order by o.rev, o.observation_id limit %(limit)s

-- name: turns (turns by their ids, in order)
select {{ledger.turn}} from muniment.turns t
where t.space_id = %(space)s and t.turn_id = any(%(turns)s)
order by t.at, t.turn_id

-- name: revisions (the revisions that the space had at these times, in their order)
select coalesce(r.rev, 0) as rev
from unnest(%(moments)s::timestamptz[]) with ordinality o (moment, n) left join lateral (
  select max(j.rev) as rev from muniment.journal j where j.space_id = %(space)s and j.ts <= o.moment
) r on true order by o.n
