-- name: search (enters the space and ranks candidates of all channels in one scan; BM25 counts what the reader may see)
with entered as materialized (
  {entered}
), space as materialized (
  {{space}}
), term as materialized (
  select t.n, t.unit::sparsevec as unit from unnest(string_to_array(%(units)s, ';')) with ordinality t (unit, n)
), {met} base as materialized (
  {base}
), posting as materialized (
  select b.memory_id, b.standing, b.speaker, w.n, w.weight
  from base b cross join lateral (select t.n, -(b.words <#> t.unit) as weight from term t offset 0) w
  where b.words is not null and w.weight > 0
), scope as materialized (
  {scope}
), idf as materialized (
  select t.n, d.df,
    ln(1 + (c.n + %(background)s - coalesce(d.df, 0) + 0.5::float8) / (coalesce(d.df, 0) + 0.5::float8)) as idf
  from term t cross join scope c left join {df} d on d.n = t.n
), keyword as materialized (
  select memory_id, min(standing) as standing, min(speaker) as speaker,
    least(1, sum(idf * weight) / (select sum(idf) * %(highest)s from idf)) as share
  from posting join idf using (n) group by memory_id
), best as materialized (
  select memory_id, share from (
    (select memory_id, null::float8 as share, standing + {{boost}} as score from base where words is null
     order by score desc, memory_id limit %(candidates)s)
    union all
    select memory_id, share, standing + {{boost}} + %(keyword)s * share from keyword
  ) f order by score desc, memory_id limit %(candidates)s
), {{tied}}, picked as (
  select memory_id, share, edges from best left join tied using (memory_id)
  union all
  select memory_id, k.share, t.edges
  from ((select t.memory_id from tied t where t.memory_id not in (select memory_id from best) and exists (
      select from {source} where m.memory_id = t.memory_id and {{scoped}}{narrowed})
    order by t.strongest desc, t.memory_id limit 2 * %(candidates)s){watched}) o left join tied t using (memory_id) left join keyword k using (memory_id)
  where memory_id not in (select memory_id from best)
){ranked}
select h.*, f.* from (
  select coalesce((select rev from space), 0) as now, (select speakers from scope) as speakers,
    (select n from scope) as among, (select mean from scope) as mean, (select spread from scope) as spread,
    array(select n from idf where df is null) as unheard, {reached} as reached,
    coalesce((select indexed from space), false) as indexed, coalesce((select has_limits from space), false) as limited
) h left join (
  select {m.shown_columns}, p.share, p.edges, {cosine} as cosine, {ranks} as ranks, array[{{traits}}] as traits, {rivals} as rivals
  from picked p
  cross join lateral (
    select * from {source} where m.memory_id = p.memory_id and {{scoped}}{narrowed} offset 0) m{places}
) f on true

-- name: entered (true, once the space is entered; fails when the embedder is out of use, or in another role)
select set_config('app.spaces', array[%(space)s]::text, true) is not null
  and set_config('app.categories', %(allowed)s::text[]::text, true) is not null
  and (current_user = 'muniment_app' or muniment.refuse('MU003', current_user::text) is null)
  and muniment.expect_embedder(%(model)s) as ok

-- name: shared (true, if the transaction has entered the space that somebody shares; its vectors may be of another embedder)
select coalesce(%(space)s = any(muniment.my_spaces()), false) and current_user = 'muniment_app' as ok

-- name: newest (enters the space and lists what has changed last, as the rows of a search)
with entered as materialized (
  {entered}
), space as materialized (
  {{space}}
), passing as materialized (
  select m.memory_id, m.updated_at, m.rev from {source} where {{scoped}}{narrowed}
)
select h.*, f.* from (
  select coalesce((select rev from space), 0) as now, null::text[] as speakers, (select count(*) from passing) as among,
    null::float8 as mean, null::float8 as spread, '{}'::bigint[] as unheard, true as reached, false as indexed,
    coalesce((select has_limits from space), false) as limited
) h left join (
  select {m.shown_columns}, null::float8 as share, null::jsonb as edges, null::float8 as cosine, null::jsonb as ranks,
    '{0,0,0}'::float8[] as traits, {rivals} as rivals
  from (select memory_id from passing order by updated_at desc, rev desc, memory_id limit %(candidates)s) p
  cross join lateral (
    select * from {source} where m.memory_id = p.memory_id and {{scoped}}{narrowed} offset 0) m
  order by m.updated_at desc, m.rev desc, m.memory_id
) f on true

-- name: space (the space; `indexed`: it has indexes of its own, with every vector of the model)
select s.rev, s.indexed_rev, s.has_limits, case when s.indexed_model = %(model)s then not exists (
    select from muniment.memories m where m.space_id = %(space)s and m.next_model = %(model)s) end as indexed
  from muniment.spaces s where s.space_id = %(space)s and (select ok from entered)

-- name: met (nothing more: a small space is scanned as a whole)


-- name: base (all rows that pass; the cosine is computed once)
select {looked} from (
  select m.memory_id, m.words, m.text, m.actor_id, m.event_time, {likeness} as cosine from {source} where {{scoped}}{narrowed} offset 0) m

-- name: looked (`words` only with one of the query's: `heard` is a parameter, which is unpacked once)
m.memory_id, {standing} as standing, {speaker} as speaker,{dense}
    case when m.words <#> %(heard)s < 0 then m.words end as words

-- name: scope (how many memories there are, how alike they are to the query, and which of its words name a speaker)
select n, mean, spread, speakers, cardinality(speakers) = 1 as one_speaker from (
    select count(*) as n, avg(cosine)::float8 as mean, stddev_pop(cosine)::float8 as spread,
      array_agg(distinct speaker) filter (where speaker is not null) as speakers from base) s

-- name: df (how many memories have each term)
(select n, count(*) as df from posting group by n)

-- name: reached (a scan leaves nothing out)
true

-- name: tied (what has an edge to one of the best ten, with these edges: where all texts are alike, most of a space)
tied as materialized (
  select memory_id, jsonb_object_agg(hub, strength) as edges, max(strength) as strongest from (
    select r.to_id as memory_id, r.from_id as hub, r.strength
    from muniment.relations r join (select memory_id from best limit 10) s on s.memory_id = r.from_id
    where r.space_id = %(space)s and (select ok from entered){tied_then}
    union all
    select r.from_id, r.to_id, r.strength
    from muniment.relations r join (select memory_id from best limit 10) s on s.memory_id = r.to_id
    where r.space_id = %(space)s and (select ok from entered){tied_then}
  ) edge group by memory_id
)

-- name: tied_then (an edge has no revision: it is of the one before the next change)
and coalesce(r.created_at < (
      select muniment.time_after(s.space_id, %(as_of)s) from muniment.spaces s where s.space_id = %(space)s), true)

-- name: scoped (the active memories of the space)
(select ok from entered) and m.space_id = %(space)s and m.state = 'active'{chosen}

-- name: chosen (fewer categories than the reader may read, which row-level security keeps to)
and m.category = any(%(categories)s)

-- name: standing (the score without the words of the query)
%(semantic)s * greatest(%(lowest)s, least(1, (coalesce({cosine}, %(floor)s) - %(floor)s) / (%(ceiling)s - %(floor)s)))
    - (m.words <#> %(traits)s){owned}{timely}

-- name: owned (adds what is about the user)
+ case when {{of_user}} then %(own)s else 0 end

-- name: of_user (whether a text is about the user; most texts begin with another character, which is seen at once)
ascii(m.text) = any(%(beginnings)s) and (m.text ^@ any(%(of_user)s)
      or (coalesce(m.actor_id, %(owner)s) = %(owner)s and m.text ^@ any(%(in_own_words)s)))

-- name: boost (adds what is of the only speaker whom the query names)
case when speaker is not null and (select one_speaker from scope) then %(actor)s else 0 end

-- name: cosine (the cosine: vectors are of length 1)
case when m.embedding_model = %(model)s then -(m.embedding <#> %(vector)s)
  when m.next_model = %(model)s then -(m.next_embedding <#> %(vector)s) end

-- name: speaker (the speaker, if the query names it)
case when lower(m.actor_id) = any(%(speakers)s) then lower(m.actor_id) end

-- name: nobody (no speaker)
null::text

-- name: timely (adds 1 within a period, less further from it)
+ %(timely)s * coalesce((
    select max(greatest(0, 1 - greatest(0, (moment - until) / %(after)s, (since - moment) / %(before)s)))
    from date_part('epoch', m.event_time) moment, unnest(%(since)s, %(until)s) period (since, until)
    where moment is not null), 0)

-- name: traits (the traits of `rules/retrieval/traits.py`, which are the first dimensions)
-(m.words <#> '{1:1}/1000000000'), -(m.words <#> '{2:1}/1000000000'), -(m.words <#> '{3:1}/1000000000')

-- name: rivals (the memories that have the first eight digits of the id, too; null, as nearly always, where none has)
(select string_agg(o.memory_id::text, ' ') from muniment.memories o where o.space_id = %(space)s and o.memory_id <> m.memory_id
    and o.memory_id between (left(m.memory_id::text, 8) || '-0000-0000-0000-000000000000')::uuid
      and (left(m.memory_id::text, 8) || '-ffff-ffff-ffff-ffffffffffff')::uuid)

-- name: no_rivals
null::text

-- name: ranked (the rank in each channel, which counts no lower than the last one picked)
, dense as materialized (
  select memory_id, rank() over (order by cosine desc) as place from base
  where cosine >= (select min(cosine) from base where memory_id in (select memory_id from picked))
), worded as materialized (
  select memory_id, rank() over (order by share desc) as place from keyword
  where share > 0 and share >= (select min(share) from picked where share > 0)
)

-- name: places (joins the ranks, and the words that are shared)
left join dense d on d.memory_id = p.memory_id left join worded w on w.memory_id = p.memory_id
  left join (
    select memory_id, jsonb_agg(n order by n) as words from posting
    where memory_id in (select memory_id from picked) group by memory_id
  ) s on s.memory_id = p.memory_id

-- name: ranks (the ranks as JSON)
jsonb_build_object('dense', d.place, 'keyword', w.place, 'words', case when w.place is not null then s.words end)

-- name: unranked (no ranks)
null::jsonb

-- name: watched (adds the watched memory)
union select %(watched)s::uuid

-- name: by_agent_id (filters of a search)
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

-- name: by_session_id
and m.session_id = %(session_id)s

-- name: by_project_id
and m.project_id = %(project_id)s

-- name: by_app_id
and m.app_id = %(app_id)s

-- name: by_reach
and m.reach = %(reach)s

-- name: by_source
and m.source = %(source)s

-- name: by_event_after
and m.event_time >= %(event_after)s

-- name: by_event_before
and m.event_time <= %(event_before)s

-- name: by_fact_kind
and m.fact ->> 'kind' = %(fact_kind)s

-- name: by_predicate
and lower(m.fact ->> 'predicate') = lower(%(predicate)s)

-- name: by_person (who is named in the fact, or what it is about)
and (lower(m.fact ->> 'subject') = lower(%(person)s) or exists (
      select from jsonb_array_elements_text(m.fact -> 'persons') one where lower(one) = lower(%(person)s)))

-- name: by_entity
and exists (select from jsonb_array_elements_text(m.fact -> 'entities') one where lower(one) = lower(%(entity)s))

-- name: by_location
and lower(m.fact ->> 'location') = lower(%(location)s)

-- name: by_topic
and lower(m.fact ->> 'topic') = lower(%(topic)s)

-- name: by_without_tags
and not m.tags && %(without_tags)s::text[]

-- name: by_said_in (what was said in a session, there first or as well)
and {{said_in}}

-- name: by_from_documents (what was taken in from a document)
and {{from_document}}

-- name: by_said_in_or_documents
and ({{from_document}} or {{said_in}})

-- name: said_in (`offset 0`: read for each memory that passes, after the space is entered)
(m.session_id = %(said_in)s or exists (
      select from muniment.observations o where o.space_id = %(space)s and o.memory_id = m.memory_id
        and o.session_id = %(said_in)s offset 0))

-- name: from_document
(m.trust = 'document' and m.source is not null)

-- name: by_limits (what is found here, and has not expired; only of a space that has such memories)
and {{reached_here}} and {{lasting}}

-- name: by_limits_then (the same at a revision: what had not expired when the next one began)
and {{reached_here}} and {{lasting_then}}

-- name: reached_here (what is found everywhere, and what is found where the reader is)
(m.reach = 'user' or m.reach = 'project' and m.project_id = %(project)s::text
      or m.reach = 'session' and m.session_id = %(session)s::text)

-- name: lasting (what has not expired; of what is not active that does not matter)
(m.expires_at is null or m.state <> 'active' or m.expires_at > coalesce(%(at)s::timestamptz, now()))

-- name: lasting_then (the same at a revision)
(m.expires_at is null or m.state <> 'active' or m.expires_at > coalesce((
      select muniment.time_after(s.space_id, %(as_of)s) from muniment.spaces s where s.space_id = %(space)s),
      %(at)s::timestamptz, now()))

-- name: has_limits (whether the space has memories with a place or an end: else none of them is looked at)
coalesce((select s.has_limits from muniment.spaces s where s.space_id = %(space)s), false)

-- name: current (the memories as they are)
muniment.memories m

-- name: then (the memories as they were at a revision)
(
  select {c.memory_columns}, {c.store_columns} from muniment.memories c
  where c.space_id = %(space)s and c.rev <= %(as_of)s
  union all
  select {c.version_columns}, {c.store_columns} from muniment.memory_versions c
  where c.space_id = %(space)s and c.from_rev <= %(as_of)s and c.to_rev > %(as_of)s
) m

-- name: stable (the most important memories of categories, without those for which another one speaks in the profile now)
select {m.shown_columns} from {source}
where m.space_id = %(space)s and m.state = 'active' and m.category = any(%(categories)s) {limited}
  and (%(as_of)s::bigint is not null or m.memory_id not in (
    select p.memory_id from muniment.projections p
      join muniment.memories w on w.space_id = %(space)s and w.memory_id = p.superseded_by and w.category = any(%(categories)s)
    where p.space_id = %(space)s and p.type = 'user_profile' and p.status in ('support', 'outranked')
      and not ({{has_limits}} and muniment.has_ended(p.space_id, p.superseded_by, null, %(at)s::timestamptz))))
order by m.pinned desc, m.importance desc, m.created_at, m.memory_id limit %(limit)s

-- name: words (the words of the memories that a search is made among, in lower case, with one of the beginnings)
select distinct w.found[1] as word from {source}
  cross join lateral regexp_matches(lower(m.text || ' ' || array_to_string(m.aliases, ' ')), %(pattern)s, 'g') w (found)
where m.space_id = %(space)s and m.state = 'active' and m.category = any(%(categories)s) {narrowed}
limit %(limit)s

-- name: entry (the columns of a journal entry)
j.rev, j.memory_id, j.action, j.ts, m.category, m.text, m.importance, m.pinned, j.old_ref, j.new_ref, j.thread_id,
j.node, j.actor, j.band, j.sim, j.meta

-- name: delta (a thread's changes, of many memories the most important; without a cursor from the horizon)
with cursor as materialized (
  select coalesce((
    select coalesce(muniment.read_cursor(s.space_id, %(thread)s), muniment.revision_before(s.space_id, %(horizon)s))
    from muniment.spaces s where s.space_id = %(space)s), 0) as since
), unseen as materialized (
  select {{entry}}
  from muniment.journal j cross join lateral (
    select * from {source} where m.space_id = %(space)s and m.memory_id = j.memory_id
      and m.state not in ('pending', 'rejected') {limited} offset 0) m
  where j.space_id = %(space)s and j.rev > (select since from cursor)
    and (%(as_of)s::bigint is null or j.rev <= %(as_of)s) and j.action <> 'LINK'
    and not j.meta ?& array['consent', 'field'] and not j.meta ? 'hard'
)
select c.since, u.* from cursor c left join unseen u on u.memory_id in (
  select memory_id from unseen group by memory_id, pinned, importance
  order by pinned desc, importance desc, max(rev) desc limit %(changes)s)
order by u.rev

