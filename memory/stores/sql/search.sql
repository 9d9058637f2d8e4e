-- name: search (one scan, one CTE per channel, a true union; BM25 with the IDF of what the reader may see)
with {met} base as materialized (
  select m.memory_id, {cosine} as cosine, -(m.words <#> %(traits)s){timely} as bonus, {speaker} as speaker,
    case when m.words <#> %(heard)s < 0 then m.words end as words
  from {among} where {{scoped}}{narrowed}
), scope as materialized (
  {scope}
), posting as materialized (
  select b.memory_id, b.cosine, b.bonus, b.speaker, t.n, w.weight
  from base b cross join unnest(%(terms)b) with ordinality t (unit, n)
  cross join lateral (select -(b.words <#> t.unit) as weight offset 0) w
  where b.words is not null and w.weight > 0
), idf as materialized (
  select t.n, d.df, ln(1 + (c.n + %(background)s - coalesce(d.df, 0) + 0.5) / (coalesce(d.df, 0) + 0.5)) as idf
  from generate_series(1, cardinality(%(terms)b)) t (n) cross join scope c
  left join {df} d on d.n = t.n
), keyword as materialized (
  select memory_id, min(cosine) as cosine, min(bonus) as bonus, min(speaker) as speaker,
    sum(idf * weight) / (select sum(idf) * %(highest)s from idf) as share
  from posting join idf using (n) group by memory_id
), best as materialized (
  select f.memory_id from (
    select memory_id, cosine, bonus, speaker, 0::float8 as share from base where words is null
    union all
    select memory_id, cosine, bonus, speaker, share from keyword
  ) f cross join scope c
  order by f.bonus + case when f.speaker is not null and c.one_speaker then %(actor)s else 0 end + %(keyword)s * f.share
    + %(semantic)s * least(1, (coalesce(f.cosine, %(floor)s) - %(floor)s) / (%(ceiling)s - %(floor)s)) desc, f.memory_id
  limit %(candidates)s
), {{tied}}, picked as (
  select memory_id from best union select memory_id from tied{watched}
)
select h.*, f.* from (
  select coalesce((select rev from muniment.spaces where space_id = %(space)s), 0) as now,
    (select speakers from scope) as speakers, array(select n from idf where df is null) as unheard,
    {reached} as reached, {{indexed}} as indexed
) h left join (
  select k.share, t.edges, {cosine} as cosine, {ranks} as ranks, array[{{traits}}] as traits, {{shown}}
  from picked p
  cross join lateral (select * from {source} where m.space_id = %(space)s and m.memory_id = p.memory_id offset 0) m
  left join keyword k on k.memory_id = p.memory_id left join tied t on t.memory_id = p.memory_id
  where {{scoped}}{narrowed}
) f on true

-- name: met (a small space is searched as a whole)


-- name: among
{source}

-- name: scope
select count(*) as n, min(speaker) = max(speaker) as one_speaker, array_agg(distinct speaker) filter (where speaker is not null) as speakers
  from base

-- name: df
(select n, count(*) as df from posting group by n)

-- name: reached (a scan leaves nothing out)
true

-- name: indexed (whether the space has indexes of its own, and in them every vector of the model)
coalesce((
      select s.indexed_model = %(model)s and not exists (
        select from muniment.memories m where m.space_id = %(space)s and m.next_model = %(model)s)
      from muniment.spaces s where s.space_id = %(space)s), false)

-- name: tied (what an edge ties to one of the best ten, with the edges)
tied as materialized (
  select memory_id, jsonb_object_agg(hub, strength) as edges from (
    select r.to_id as memory_id, r.from_id as hub, r.strength
    from muniment.relations r join (select memory_id from best limit 10) s on s.memory_id = r.from_id
    where r.space_id = %(space)s
    union all
    select r.from_id, r.to_id, r.strength
    from muniment.relations r join (select memory_id from best limit 10) s on s.memory_id = r.to_id
    where r.space_id = %(space)s
  ) edge group by memory_id
)

-- name: scoped (a process whose embedder is not in use any more has an error, and no answer of half the channels)
m.space_id = %(space)s and m.state = 'active' and m.category = any(%(categories)s)
and (select muniment.expect_embedder(%(model)s))

-- name: cosine (vectors are of length 1)
case when m.embedding_model = %(model)s then -(m.embedding <#> %(vector)s)
  when m.next_model = %(model)s then -(m.next_embedding <#> %(vector)s) end

-- name: speaker
case when lower(m.actor_id) = any(%(speakers)s) then lower(m.actor_id) end

-- name: nobody
null::text

-- name: timely (1 within a period, and less the further from it; `greatest` would take no time at all for one within)
+ %(timely)s * coalesce((
    select max(greatest(0, 1 - greatest(0, (moment - until) / %(after)s, (since - moment) / %(before)s)))
    from date_part('epoch', m.event_time) moment, unnest(%(since)s, %(until)s) period (since, until)
    where moment is not null), 0)

-- name: traits (of `rules/traits.py`, which have the first dimensions)
-(m.words <#> '{1:1}/1000000000'), -(m.words <#> '{2:1}/1000000000'), -(m.words <#> '{3:1}/1000000000')

-- name: ranks (the place in each channel)
jsonb_build_object(
  'dense', case when {cosine} is not null then (select count(*) + 1 from base b where b.cosine > {cosine}) end,
  'keyword', case when k.share > 0 then (select count(*) + 1 from keyword o where o.share > k.share) end)

-- name: unranked
null::jsonb

-- name: watched
union select %(watched)s::uuid

-- name: by_agent_id
and m.agent_id = %(agent_id)s

-- name: by_run_id
and m.run_id = %(run_id)s

-- name: by_actor_id
and m.actor_id = %(actor_id)s

-- name: by_role
and m.role = %(role)s

-- name: by_category
and m.category = %(category)s

-- name: by_pinned
and m.pinned = %(pinned)s

-- name: by_importance_min
and m.importance >= %(importance_min)s

-- name: by_importance_max
and m.importance <= %(importance_max)s

-- name: by_updated_after
and m.updated_at >= %(updated_after)s

-- name: by_updated_before
and m.updated_at <= %(updated_before)s

-- name: shown (the columns without the words around the statement, which are never shown)
m.memory_id, m.kind, m.category, m.text, m.fact, m.stable_key, m.importance, m.confidence, m.trust, m.pinned, m.state,
m.tags, m.agent_id, m.run_id, m.actor_id, m.role, m.session_id, m.thread_id, m.event_time, m.created_at, m.updated_at,
m.last_accessed_at, m.access_count, m.purge_at, m.rev, m.superseded_by, null as context, m.turns

-- name: current
muniment.memories m

-- name: then (the memories as they were at a revision)
(
  select {{versioned}}, c.rev, c.last_accessed_at, c.access_count from muniment.memories c
  where c.space_id = %(space)s and c.rev <= %(as_of)s
  union all
  select {{versioned}}, c.from_rev, null, 0 from muniment.memory_versions c
  where c.space_id = %(space)s and c.from_rev <= %(as_of)s and c.to_rev > %(as_of)s
) m

-- name: versioned
c.space_id, c.memory_id, c.kind, c.category, c.text, c.fact, c.stable_key, c.importance, c.confidence, c.trust,
c.pinned, c.state, c.tags, c.agent_id, c.run_id, c.actor_id, c.role, c.session_id, c.thread_id, c.event_time,
c.created_at, c.updated_at, c.purge_at, c.superseded_by, c.turns, c.embedding, c.embedding_model, c.words,
c.next_embedding, c.next_model

-- name: stable
select {{shown}} from {source}
where m.space_id = %(space)s and m.state = 'active' and m.category = any(%(categories)s)
order by m.pinned desc, m.importance desc, m.created_at, m.memory_id limit %(limit)s

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
left join muniment.journal j on j.space_id = %(space)s and j.rev > c.since
  and (%(as_of)s::bigint is null or j.rev <= %(as_of)s) and j.action <> 'LINK'
  and not j.meta ?& array['consent', 'field']
left join {source} on m.space_id = %(space)s and m.memory_id = j.memory_id
  and m.state not in ('pending', 'rejected')
order by j.rev

-- name: revision_at
select coalesce(max(rev), 0) as rev from muniment.journal where space_id = %(space)s and ts <= %(moment)s
