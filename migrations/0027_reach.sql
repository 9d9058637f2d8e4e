-- Where a memory holds and how long: `reach` says whether it is found everywhere, in its project or in its session alone; from
-- `expires_at` on no answer has it. And where it comes from: a source by its name or address, a project, an app.
alter table muniment.spaces add column has_limits boolean not null default false;
comment on column muniment.spaces.has_limits is
  'Whether a memory of it has or had a reach that is not the user, or a time at which it expires: a search looks at these then.';
do $$
declare name text;
begin
  foreach name in array array['memories', 'memory_versions'] loop
    execute format('alter table muniment.%I add column project_id text, add column app_id text,
      add column reach text not null default %L, add column source text, add column expires_at timestamptz,
      add constraint %I check (reach = %L or reach = %L and project_id is not null or reach = %L and session_id is not null)',
      name, 'user', name || '_reach', 'user', 'project', 'session');
    execute format('comment on column muniment.%I.project_id is %L', name, 'The project in which it was said.');
    execute format('comment on column muniment.%I.app_id is %L', name, 'The app through which it was said.');
    execute format('comment on column muniment.%I.reach is %L', name,
      'Where the memory is found: `user` everywhere, `project` in its project alone, `session` in its session alone.');
    execute format('comment on column muniment.%I.source is %L', name,
      'Where it comes from, by name or address; shown with the memory. Null: from what was said.');
    execute format('comment on column muniment.%I.expires_at is %L', name, 'From when on no answer has it; null: it lasts.');
  end loop;
end $$;

-- One active memory has a stable key at each place: what holds in a project stands beside what holds everywhere.
drop index muniment.memories_by_key;
create unique index memories_by_key on muniment.memories (space_id, stable_key, (coalesce(hashtextextended(
    case reach when 'project' then 'project:' || project_id when 'session' then 'session:' || session_id end, 0), 0)))
  where stable_key is not null and state = 'active';
comment on index muniment.memories_by_key is 'One active memory says a thing at a place: everywhere, in a project, in a session.';
create index memories_limited on muniment.memories (space_id, memory_id) where reach <> 'user' or expires_at is not null;
comment on index muniment.memories_limited is 'The memories that are not found everywhere, or not for ever: whether a space has any.';

-- As before, with the new columns.
create or replace function muniment.apply_changes(
  at_space uuid, memories jsonb, embeddings halfvec[], weights sparsevec[], lines jsonb, fresh boolean
) returns void language plpgsql as $$
#variable_conflict use_column
declare made_with text := jsonb_path_query_first(memories, '$[*].embedding_model') #>> '{}';
begin
  if made_with is not null then
    perform muniment.expect_embedder(made_with);
  end if;
  -- A process of a former version does not know these columns: what it changes keeps them.
  if jsonb_path_exists(memories, '$[*] ? (!exists(@.aliases) || !exists(@.reach))') then
    memories := (
      select jsonb_agg(coalesce((
        select to_jsonb(known) from (
          select b.aliases, b.project_id, b.app_id, b.reach, b.source, b.expires_at from muniment.memories b
          where b.space_id = at_space and b.memory_id = (one.row ->> 'memory_id')::uuid) known
        ), '{"aliases": [], "reach": "user"}') || one.row order by one.n)
      from jsonb_array_elements(memories) with ordinality one (row, n));
  end if;
  if jsonb_path_exists(memories, '$[*] ? (@.reach != "user" || exists(@.expires_at))') then
    update muniment.spaces set has_limits = true where space_id = at_space and not has_limits;
  end if;
  if fresh then
    insert into muniment.memories (
      space_id, memory_id, kind, category, text, fact, stable_key, importance, confidence, trust, pinned, state, tags,
      agent_id, run_id, actor_id, role, session_id, thread_id, event_time, created_at, updated_at, access_count,
      purge_at, rev, superseded_by, context, turns, aliases, project_id, app_id, reach, source, expires_at,
      embedding, embedding_model, words)
    select at_space, m.memory_id, m.kind, m.category, m.text, m.fact, m.stable_key, m.importance, m.confidence, m.trust,
      m.pinned, m.state, m.tags, m.agent_id, m.run_id, m.actor_id, m.role, m.session_id, m.thread_id, m.event_time,
      m.created_at, m.updated_at, 0, m.purge_at, m.rev, m.superseded_by, m.context, m.turns,
      m.aliases, m.project_id, m.app_id, m.reach, m.source, m.expires_at, embeddings[m.ordinality],
      m.embedding_model, weights[m.ordinality]
    from jsonb_populate_recordset(null::muniment.memories, memories) with ordinality m;
    insert into muniment.journal (
      space_id, rev, memory_id, action, new_ref, thread_id, node, actor, band, sim, meta, ts, category)
    select at_space, j.rev, j.memory_id, j.action, j.memory_id || '@' || j.rev, j.thread_id, j.node, j.actor, j.band,
      j.sim, j.meta, j.ts, memories -> (j.ordinality - 1)::int ->> 'category'
    from jsonb_populate_recordset(null::muniment.journal, lines) with ordinality j;
    return;
  end if;
  with incoming as materialized (
    select * from jsonb_populate_recordset(null::muniment.memories, memories) with ordinality
  ), before as materialized (
    select b.* from muniment.memories b
    where b.space_id = at_space and b.memory_id = any(array(select memory_id from incoming))
  ), archived as (
    insert into muniment.memory_versions (
      space_id, memory_id, from_rev, to_rev, kind, category, text, fact, stable_key, importance, confidence, trust,
      pinned, state, tags, agent_id, run_id, actor_id, role, session_id, thread_id, event_time, created_at, updated_at,
      purge_at, superseded_by, context, turns, aliases, project_id, app_id, reach, source, expires_at,
      embedding, embedding_model, words, next_embedding, next_model)
    select at_space, b.memory_id, b.rev, m.rev, b.kind, b.category, b.text, b.fact, b.stable_key, b.importance,
      b.confidence, b.trust, b.pinned, b.state, b.tags, b.agent_id, b.run_id, b.actor_id, b.role, b.session_id,
      b.thread_id, b.event_time, b.created_at, b.updated_at, b.purge_at, b.superseded_by, b.context, b.turns, b.aliases,
      b.project_id, b.app_id, b.reach, b.source, b.expires_at,
      b.embedding, b.embedding_model, b.words, b.next_embedding, b.next_model
    from before b join incoming m on m.memory_id = b.memory_id
  ), written as (
    insert into muniment.memories (
      space_id, memory_id, kind, category, text, fact, stable_key, importance, confidence, trust, pinned, state, tags,
      agent_id, run_id, actor_id, role, session_id, thread_id, event_time, created_at, updated_at, access_count,
      purge_at, rev, superseded_by, context, turns, aliases, project_id, app_id, reach, source, expires_at,
      embedding, embedding_model, words, next_embedding, next_model)
    select at_space, m.memory_id, m.kind, m.category, m.text, m.fact, m.stable_key, m.importance, m.confidence, m.trust,
      m.pinned, m.state, m.tags, m.agent_id, m.run_id, m.actor_id, m.role, m.session_id, m.thread_id, m.event_time,
      m.created_at, m.updated_at, 0, m.purge_at, m.rev, m.superseded_by, m.context, m.turns,
      m.aliases, m.project_id, m.app_id, m.reach, m.source, m.expires_at,
      coalesce(embeddings[m.ordinality], b.embedding), coalesce(m.embedding_model, b.embedding_model),
      weights[m.ordinality], case when m.embedding_model is null then b.next_embedding end,
      case when m.embedding_model is null then b.next_model end
    from incoming m left join before b on b.memory_id = m.memory_id order by m.ordinality
    on conflict (space_id, memory_id) do update set
      kind = excluded.kind, category = excluded.category, text = excluded.text, fact = excluded.fact,
      stable_key = excluded.stable_key, importance = excluded.importance, confidence = excluded.confidence,
      trust = excluded.trust, pinned = excluded.pinned, state = excluded.state, tags = excluded.tags,
      actor_id = excluded.actor_id, role = excluded.role, session_id = excluded.session_id,
      thread_id = excluded.thread_id, event_time = excluded.event_time, updated_at = excluded.updated_at,
      purge_at = excluded.purge_at, rev = excluded.rev, superseded_by = excluded.superseded_by,
      context = excluded.context, turns = excluded.turns, aliases = excluded.aliases, project_id = excluded.project_id,
      app_id = excluded.app_id, reach = excluded.reach, source = excluded.source, expires_at = excluded.expires_at,
      embedding = excluded.embedding, embedding_model = excluded.embedding_model, words = excluded.words,
      next_embedding = excluded.next_embedding, next_model = excluded.next_model
  )
  insert into muniment.journal (
    space_id, rev, memory_id, action, old_ref, new_ref, thread_id, node, actor, band, sim, meta, ts, category)
  select at_space, j.rev, j.memory_id, j.action, j.memory_id || '@' || b.rev, j.memory_id || '@' || j.rev, j.thread_id,
    j.node, j.actor, j.band, j.sim, j.meta, j.ts, i.category
  from jsonb_populate_recordset(null::muniment.journal, lines) j join incoming i on i.memory_id = j.memory_id
    left join before b on b.memory_id = j.memory_id;
end $$;

-- As before, among the memories of the same place: null is everywhere, else `project:` or `session:` and its name. What is near at
-- another place is another statement.
create function muniment.near(
  at_space uuid, kinds text[], keys text[], attributes text[], vectors halfvec[], model text, most int, places text[]
) returns table (n bigint, rev bigint, same_key boolean, sim float8, found muniment.memories)
language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
#variable_conflict use_column
begin
  perform muniment.enter_space(at_space), muniment.expect_embedder(model);
  return query select 0::bigint, coalesce((select s.rev from muniment.spaces s where s.space_id = at_space), 0),
    null::boolean, null::float8, null::muniment.memories;
  if array_remove(attributes, null) <> '{}' then
    return query
    select kin.n, null::bigint, kin.same_key, null::float8,
      (select m from muniment.memories m where m.space_id = at_space and m.memory_id = kin.memory_id)
    from (
      select p.n, c.memory_id, c.stable_key = p.stable_key as same_key,
        row_number() over (partition by p.n order by c.stable_key = p.stable_key desc, c.rev desc) as place
      from unnest(kinds, keys, attributes, places) with ordinality p (kind, stable_key, attribute, place, n)
      join muniment.memories c on c.space_id = at_space and c.state = 'active' and c.stable_key is not null
        and c.kind = p.kind and (c.stable_key = p.stable_key or starts_with(c.stable_key, p.attribute))
        and p.place is not distinct from
          case c.reach when 'project' then 'project:' || c.project_id when 'session' then 'session:' || c.session_id end
    ) kin where kin.place <= 200 order by kin.n, kin.place;
  end if;
  return query
  select p.n, null::bigint, false, 1 - close.distance,
    (select m from muniment.memories m where m.space_id = at_space and m.memory_id = close.memory_id)
  from unnest(kinds, vectors, places) with ordinality p (kind, vector, place, n)
  cross join lateral (
    select c.memory_id,
      (case when c.embedding_model = model then c.embedding else c.next_embedding end) <=> p.vector as distance
    from muniment.memories c
    where c.space_id = at_space and c.state = 'active' and c.kind = p.kind
      and (c.embedding_model = model or c.next_model = model)
      and p.place is not distinct from
          case c.reach when 'project' then 'project:' || c.project_id when 'session' then 'session:' || c.session_id end
    order by distance, c.memory_id limit most
  ) close
  order by p.n, close.distance, close.memory_id;
end $$;
comment on function muniment.near(uuid, text[], text[], text[], halfvec[], text, int, text[]) is
  'What candidates meet: the revision of the space (n = 0), then for each candidate the active memories of its kind and place that share its key or attribute, and the closest `most` by cosine.';

-- A process of a former version asks without places, and writes what is found everywhere.
create or replace function muniment.near(
  at_space uuid, kinds text[], keys text[], attributes text[], vectors halfvec[], model text, most int
) returns table (n bigint, rev bigint, same_key boolean, sim float8, found muniment.memories)
language sql as $$
  select * from muniment.near(at_space, kinds, keys, attributes, vectors, model, most, null)
$$;
