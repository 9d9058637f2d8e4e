-- name: snapshot
set transaction isolation level repeatable read, read only

-- name: enter
select muniment.enter_space(%(space)s, %(allowed)s)

-- name: rev
select coalesce((select rev from muniment.spaces where space_id = %(space)s), 0) as rev

-- name: columns
m.memory_id, m.kind, m.category, m.text, m.fact, m.stable_key, m.importance, m.confidence, m.trust, m.pinned, m.state,
m.tags, m.agent_id, m.run_id, m.actor_id, m.role, m.session_id, m.thread_id, m.event_time, m.created_at, m.updated_at,
m.last_accessed_at, m.access_count, m.purge_at, m.rev, m.superseded_by, m.context, m.turns

-- name: shown (the columns without the words around the statement, which are never shown)
m.memory_id, m.kind, m.category, m.text, m.fact, m.stable_key, m.importance, m.confidence, m.trust, m.pinned, m.state,
m.tags, m.agent_id, m.run_id, m.actor_id, m.role, m.session_id, m.thread_id, m.event_time, m.created_at, m.updated_at,
m.last_accessed_at, m.access_count, m.purge_at, m.rev, m.superseded_by, null as context, m.turns

-- name: get
select {{columns}} from muniment.memories m where m.space_id = %(space)s and m.memory_id = %(memory_id)s

-- name: list
select {{columns}} from muniment.memories m
where m.space_id = %(space)s and m.state = any(%(states)s)
  and (%(categories)s::text[] is null or m.category = any(%(categories)s))
order by m.rev desc limit %(limit)s offset %(offset)s

-- name: related
select r.strength, {{columns}}
from (
  select to_id as memory_id, strength from muniment.relations where space_id = %(space)s and from_id = %(memory_id)s
  union all
  select from_id, strength from muniment.relations where space_id = %(space)s and to_id = %(memory_id)s
) r join muniment.memories m on m.space_id = %(space)s and m.memory_id = r.memory_id
where m.state = 'active' order by r.strength desc, m.memory_id limit %(limit)s

-- name: known
select turn_id from muniment.turns
where space_id = %(space)s and turn_id = any(%(turns)s) and consumed_rev is not null

-- name: stable
select {{columns}} from muniment.memories m
where m.space_id = %(space)s and m.state = 'active' and m.category = any(%(categories)s)
order by m.pinned desc, m.importance desc, m.created_at, m.memory_id limit %(limit)s

-- name: near (one transaction in one statement)
select f.n, f.rev as now, f.same_key, f.sim, {{columns}}
from muniment.near(%(space)s, %(kinds)s, %(keys)s, %(attributes)s, %(vectors)b, %(model)s, %(limit)s) f
cross join lateral (select (f.found).*) m

-- name: near_in_words (of each probe the memories of its kind that have the most of its words)
select p.n, {{columns}}
from unnest(%(kinds)s::text[], %(words)s::text[]) with ordinality p (kind, words, n)
cross join lateral (
  select c.* from muniment.memories c
  where c.space_id = %(space)s and c.state = 'active' and c.kind = p.kind and c.words <#> p.words::sparsevec < 0
  order by c.words <#> p.words::sparsevec, c.memory_id limit %(limit)s
) m
order by p.n

-- name: scoped
m.space_id = %(space)s and m.state = 'active' and m.category = any(%(categories)s)
  and (%(category)s::text is null or m.category = %(category)s)
  and (%(agent_id)s::text is null or m.agent_id = %(agent_id)s)
  and (%(run_id)s::text is null or m.run_id = %(run_id)s)
  and (%(actor_id)s::text is null or m.actor_id = %(actor_id)s)
  and (%(role)s::text is null or m.role = %(role)s)
  and (%(pinned)s::boolean is null or m.pinned = %(pinned)s)
  and (%(importance_min)s::numeric is null or m.importance >= %(importance_min)s)
  and (%(importance_max)s::numeric is null or m.importance <= %(importance_max)s)
  and (%(updated_after)s::timestamptz is null or m.updated_at >= %(updated_after)s)
  and (%(updated_before)s::timestamptz is null or m.updated_at <= %(updated_before)s)

-- name: search (one scan, one CTE per channel, a true union; BM25 with the IDF of what the reader may see)
with base as materialized (
  select m.memory_id, m.words, case when m.embedding_model = %(model)s then 1 - (m.embedding <=> %(vector)s) end as cosine
  from muniment.memories m where {{scoped}}
), dense as (
  select memory_id, cosine from base where cosine is not null order by cosine desc, memory_id limit %(candidates)s
), term as materialized (
  select n, unit::sparsevec from unnest(%(terms)s::text[]) with ordinality q (unit, n)
), posting as materialized (
  select b.memory_id, t.n, w.weight
  from term t cross join base b cross join lateral (select -(b.words <#> t.unit) as weight offset 0) w where w.weight > 0
), idf as (
  select t.n, ln(1 + (c.n - coalesce(d.df, 0) + 0.5) / (coalesce(d.df, 0) + 0.5)) as idf
  from term t cross join (select count(*) as n from base) c
  left join (select n, count(*) as df from posting group by n) d on d.n = t.n
), keyword as (
  select memory_id, sum(idf * weight) / (select sum(idf) * %(ceiling)s from idf) as share
  from posting join idf using (n) group by memory_id order by share desc, memory_id limit %(candidates)s
), seed as (
  (select memory_id from dense order by cosine desc limit 10) union (select memory_id from keyword order by share desc limit 10)
), related as (
  select memory_id, max(strength) as strength, jsonb_object_agg(seed, strength) as edges from (
    select r.to_id as memory_id, r.from_id as seed, r.strength
    from muniment.relations r join seed s on s.memory_id = r.from_id where r.space_id = %(space)s
    union all
    select r.from_id, r.to_id, r.strength
    from muniment.relations r join seed s on s.memory_id = r.to_id where r.space_id = %(space)s
  ) edge group by memory_id
), candidate as materialized (
  select memory_id from dense union select memory_id from keyword
  union select memory_id from related where memory_id in (select memory_id from base)
)
select {{shown}}, k.share, r.strength, r.edges,
  case when m.embedding_model = %(model)s then 1 - (m.embedding <=> %(vector)s) end as cosine,
  d.memory_id is not null as by_dense, k.memory_id is not null as by_keyword, r.memory_id is not null as by_relation
from muniment.memories m
left join dense d on d.memory_id = m.memory_id
left join keyword k on k.memory_id = m.memory_id
left join related r on r.memory_id = m.memory_id
where m.space_id = %(space)s and m.memory_id = any(array(select memory_id from candidate))

-- name: entry
j.rev, j.memory_id, j.action, j.ts, m.category, m.text, m.importance, m.pinned, j.old_ref, j.new_ref, j.thread_id,
j.node, j.actor, j.band, j.sim, j.meta

-- name: delta (a thread's unseen changes; a thread that never looked starts at the horizon)
with cursor as (
  select coalesce(
    (select rev from muniment.thread_revision where space_id = %(space)s and thread_id = %(thread)s),
    (select min(rev) - 1 from muniment.journal where space_id = %(space)s and ts >= %(horizon)s),
    (select rev from muniment.spaces where space_id = %(space)s), 0) as since
)
select c.since, {{entry}}
from cursor c
left join muniment.journal j on j.space_id = %(space)s and j.rev > c.since and j.action <> 'LINK'
  and not j.meta ?& array['consent', 'field']
left join muniment.memories m on m.space_id = %(space)s and m.memory_id = j.memory_id
  and m.state not in ('pending', 'rejected')
order by j.rev

-- name: history (a line shows the text as it stood at that revision)
select j.rev, j.memory_id, j.action, j.ts, coalesce(v.category, m.category) as category,
  coalesce(v.text, m.text) as text, coalesce(v.importance, m.importance) as importance,
  coalesce(v.pinned, m.pinned) as pinned, j.old_ref, j.new_ref, j.thread_id, j.node, j.actor, j.band, j.sim, j.meta
from muniment.journal j
join muniment.memories m on m.space_id = %(space)s and m.memory_id = j.memory_id
left join muniment.memory_versions v on v.space_id = %(space)s and v.memory_id = j.memory_id
  and v.from_rev = j.rev
where j.space_id = %(space)s and (%(memory_id)s::uuid is null or j.memory_id = %(memory_id)s)
order by j.rev desc limit %(limit)s

-- name: counts
select count(*) filter (where state = 'active') as active, count(*) as memories,
  count(*) filter (where state = 'soft_deleted') as soft_deleted,
  (select count(*) from muniment.turns where space_id = %(space)s) as turns,
  (select count(*) from muniment.relations where space_id = %(space)s) as relations
from muniment.memories where space_id = %(space)s

-- name: keeper
set local role muniment_keeper

-- name: spaces
select tenant_id, owner_id, owner_type from muniment.spaces order by created_at, space_id
