-- name: session (the columns of a session)
s.session_id, s.started_at, s.last_at, s.app_id, s.project_id, s.agent_id, s.ended_at, s.ended_why, s.metadata, s.input_tokens,
  s.output_tokens, s.turns, s.built_to, s.own_retention, s.retention_days

-- name: chosen (the sessions of a request)
from muniment.sessions s
where s.space_id = %(space)s and coalesce((s.ended_at is not null) = %(ended)s::boolean, true)
  and coalesce(s.project_id = %(project)s::text, %(project)s::text is null)
  and coalesce(s.app_id = %(app)s::text, %(app)s::text is null)

-- name: list (a page of the sessions of a request, the latest first)
select {{session}} {{chosen}}
order by s.last_at desc, s.session_id limit %(limit)s offset %(offset)s

-- name: count (how many sessions a request has)
select count(*) as total {{chosen}}

-- name: get (a session)
select {{session}} from muniment.sessions s where s.space_id = %(space)s and s.session_id = %(session)s

-- name: turns (turns of a session from a position on, in order)
select {{ledger.turn}} from muniment.turns t
where t.space_id = %(space)s and t.session_id = %(session)s and coalesce(t.position >= %(since)s, true)
order by t.position, t.at, t.turn_id limit %(limit)s

-- name: mark_built (advances the position up to which memories were built)
update muniment.sessions set built_to = least(%(position)s, turns)
where space_id = %(space)s and session_id = %(session)s and built_to < %(position)s

-- name: end (ends a session unless it has ended)
update muniment.sessions set ended_at = %(at)s, ended_why = %(why)s
where space_id = %(space)s and session_id = %(session)s and ended_at is null

-- name: change (sets members of the metadata, and days of its own; null is for ever)
update muniment.sessions set metadata = metadata || %(metadata)s, own_retention = own_retention or %(own_retention)s,
  retention_days = case when %(own_retention)s then %(retention_days)s::int else retention_days end
where space_id = %(space)s and session_id = %(session)s

-- name: open (the sessions that nobody has gone on with, and those that have ended with turns from which nothing was built)
last_at <= %(before)s and (ended_at is null or built_to < turns)

-- name: idle_spaces (spaces with such sessions)
select p.space_id, p.tenant_id, p.owner_id, p.owner_type
from (select distinct space_id from muniment.sessions where {{open}} limit %(limit)s) s
join muniment.spaces p on p.space_id = s.space_id

-- name: idle (such sessions of a space)
select session_id from muniment.sessions
where space_id = %(space)s and {{open}}
order by last_at, session_id limit %(limit)s

-- name: unread (turns whose words are not stored)
select {{ledger.turn}} from muniment.turns t
where t.space_id = %(space)s and t.words is null and t.kind <> 'audit' limit %(limit)s

-- name: write_words (stores the words of turns)
update muniment.turns t set words = one.words
from unnest(%(ids)s::uuid[], %(words)b::sparsevec[]) one (turn_id, words)
where t.space_id = %(space)s and t.turn_id = one.turn_id and t.words is null

-- name: search (the turns with most of the words, by BM25; a scan of the space, whose rows are narrow)
with term as materialized (
  select n, unit::sparsevec as unit from unnest(string_to_array(%(units)s, ';')) with ordinality one (unit, n)
), met as materialized (
  select t.turn_id, t.at, t.words from muniment.turns t
  where t.space_id = %(space)s and t.visible and t.kind <> 'audit' and t.words <#> %(heard)s < 0
    and coalesce(t.session_id = %(session)s::text, %(session)s::text is null)
    and (not %(unkept)s or {{ledger.spoken}} and not {{chats.kept}})
    and (%(app)s::text is null or t.session_id in (
      select session_id from muniment.sessions where space_id = %(space)s and app_id = %(app)s::text))
), posting as materialized (
  select m.turn_id, m.at, w.n, w.weight
  from met m cross join lateral (select e.n, -(m.words <#> e.unit) as weight from term e offset 0) w where w.weight > 0
), idf as materialized (
  select e.n, ln(1 + (c.n + %(background)s - coalesce(d.df, 0) + 0.5::float8) / (coalesce(d.df, 0) + 0.5::float8)) as idf
  from term e left join (select n, count(*) as df from posting group by n) d on d.n = e.n
    cross join (select coalesce(sum(turns), 0) as n from muniment.sessions where space_id = %(space)s) c
), best as materialized (
  select p.turn_id, p.at, least(1, sum(i.idf * p.weight) / (select sum(idf) * %(highest)s from idf)) as score
  from posting p join idf i on i.n = p.n group by p.turn_id, p.at order by score desc, p.at desc, p.turn_id limit %(limit)s
)
select {{ledger.turn}}, b.score from best b cross join lateral (
  select * from muniment.turns o where o.space_id = %(space)s and o.turn_id = b.turn_id and coalesce(o.position, 0) >= 0 offset 0) t
order by b.score desc, b.at desc, b.turn_id
