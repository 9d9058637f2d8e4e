-- A switch of the embedder beside the live index: a row may have a second vector, of the model that comes next. A search takes
-- the one of its own model, whichever column has it, so that the cut-over is one row of `embedders`.
alter table muniment.memories add column next_embedding halfvec, add column next_model text;
alter table muniment.memories alter column next_embedding set storage main;
alter table muniment.memory_versions add column next_embedding halfvec, add column next_model text;
grant update (next_embedding, next_model) on muniment.memory_versions to muniment_app;

-- The switch that is under way: a new one has a new `run`, and what another run has swept does not count for it.
alter table muniment.embedders add column run uuid;
create unique index embedders_one_run on muniment.embedders ((run is not null)) where run is not null;

-- Up to which revision every memory and version of a space has a vector of the run's model.
create table muniment.swept (
  space_id uuid not null,
  run uuid not null,
  rev bigint not null,
  constraint swept_pk primary key (space_id),
  constraint swept_space_fk foreign key (space_id) references muniment.spaces (space_id)
);
alter table muniment.swept enable row level security;
alter table muniment.swept force row level security;
create policy swept_own on muniment.swept to muniment_app
  using (space_id = any((select muniment.my_spaces())::uuid[]) and (select muniment.all_categories()))
  with check (space_id = any((select muniment.my_spaces())::uuid[]) and (select muniment.all_categories()));
grant select, insert, update on muniment.swept to muniment_app;

-- Whether nothing is left to do is asked over all spaces; the keeper sees the models and no word.
create policy swept_keeper on muniment.swept for select to muniment_keeper using (true);
create policy memories_keeper on muniment.memories for select to muniment_keeper using (true);
create policy memory_versions_keeper on muniment.memory_versions for select to muniment_keeper using (true);
grant select on muniment.swept to muniment_keeper;
grant select (space_id, embedding_model, next_model) on muniment.memories, muniment.memory_versions to muniment_keeper;

-- Refuses a process whose embedder is not, or no longer, the database's: the message is the one, the detail the other.
create function muniment.expect_embedder(wanted text) returns boolean language plpgsql stable as $$
declare used text := (select e.model from muniment.embedders e where e.active);
begin
  if used is distinct from wanted then
    raise exception using errcode = 'MU002', message = coalesce(used, 'none'), detail = wanted;
  end if;
  return true;
end $$;

-- As before, and a plan with vectors of another model is refused: its transaction has bumped a space, for which it has to
-- wait while a cut-over holds them all, so it cannot come between the last look and the cut-over. What keeps its vector keeps
-- that of the next model; what has a new one has none of the next model yet.
create or replace function muniment.apply_changes(
  at_space uuid, memories jsonb, embeddings halfvec[], weights sparsevec[], lines jsonb, fresh boolean
) returns void language plpgsql as $$
#variable_conflict use_column
declare made_with text := jsonb_path_query_first(memories, '$[*].embedding_model') #>> '{}';
begin
  if made_with is not null then
    perform muniment.expect_embedder(made_with);
  end if;
  if fresh then
    insert into muniment.memories (
      space_id, memory_id, kind, category, text, fact, stable_key, importance, confidence, trust, pinned, state, tags,
      agent_id, run_id, actor_id, role, session_id, thread_id, event_time, created_at, updated_at, access_count,
      purge_at, rev, superseded_by, context, turns, embedding, embedding_model, words)
    select at_space, m.memory_id, m.kind, m.category, m.text, m.fact, m.stable_key, m.importance, m.confidence, m.trust,
      m.pinned, m.state, m.tags, m.agent_id, m.run_id, m.actor_id, m.role, m.session_id, m.thread_id, m.event_time,
      m.created_at, m.updated_at, 0, m.purge_at, m.rev, m.superseded_by, m.context, m.turns, embeddings[m.ordinality],
      m.embedding_model, weights[m.ordinality]
    from jsonb_populate_recordset(null::muniment.memories, memories) with ordinality m;
    insert into muniment.journal (space_id, rev, memory_id, action, new_ref, thread_id, node, actor, band, sim, meta, ts)
    select at_space, j.rev, j.memory_id, j.action, j.memory_id || '@' || j.rev, j.thread_id, j.node, j.actor, j.band,
      j.sim, j.meta, j.ts
    from jsonb_populate_recordset(null::muniment.journal, lines) j;
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
      purge_at, superseded_by, context, turns, embedding, embedding_model, words,
      next_embedding, next_model)
    select at_space, b.memory_id, b.rev, m.rev, b.kind, b.category, b.text, b.fact, b.stable_key, b.importance,
      b.confidence, b.trust, b.pinned, b.state, b.tags, b.agent_id, b.run_id, b.actor_id, b.role, b.session_id,
      b.thread_id, b.event_time, b.created_at, b.updated_at, b.purge_at, b.superseded_by, b.context, b.turns,
      b.embedding, b.embedding_model, b.words, b.next_embedding, b.next_model
    from before b join incoming m on m.memory_id = b.memory_id
  ), written as (
    insert into muniment.memories (
      space_id, memory_id, kind, category, text, fact, stable_key, importance, confidence, trust, pinned, state, tags,
      agent_id, run_id, actor_id, role, session_id, thread_id, event_time, created_at, updated_at, access_count,
      purge_at, rev, superseded_by, context, turns, embedding, embedding_model, words,
      next_embedding, next_model)
    select at_space, m.memory_id, m.kind, m.category, m.text, m.fact, m.stable_key, m.importance, m.confidence, m.trust,
      m.pinned, m.state, m.tags, m.agent_id, m.run_id, m.actor_id, m.role, m.session_id, m.thread_id, m.event_time,
      m.created_at, m.updated_at, 0, m.purge_at, m.rev, m.superseded_by, m.context, m.turns,
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
      context = excluded.context, turns = excluded.turns, embedding = excluded.embedding,
      embedding_model = excluded.embedding_model, words = excluded.words,
      next_embedding = excluded.next_embedding, next_model = excluded.next_model
  )
  insert into muniment.journal (
    space_id, rev, memory_id, action, old_ref, new_ref, thread_id, node, actor, band, sim, meta, ts)
  select at_space, j.rev, j.memory_id, j.action, j.memory_id || '@' || b.rev, j.memory_id || '@' || j.rev, j.thread_id,
    j.node, j.actor, j.band, j.sim, j.meta, j.ts
  from jsonb_populate_recordset(null::muniment.journal, lines) j left join before b on b.memory_id = j.memory_id;
end $$;

-- As before, for the embedder in use, with the vector of its model.
create or replace function muniment.near(
  at_space uuid, kinds text[], keys text[], attributes text[], vectors halfvec[], model text, most int
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
      from unnest(kinds, keys, attributes) with ordinality p (kind, stable_key, attribute, n)
      join muniment.memories c on c.space_id = at_space and c.state = 'active' and c.stable_key is not null
        and c.kind = p.kind and (c.stable_key = p.stable_key or starts_with(c.stable_key, p.attribute))
    ) kin where kin.place <= 200 order by kin.n, kin.place;
  end if;
  return query
  select p.n, null::bigint, false, 1 - close.distance,
    (select m from muniment.memories m where m.space_id = at_space and m.memory_id = close.memory_id)
  from unnest(kinds, vectors) with ordinality p (kind, vector, n)
  cross join lateral (
    select c.memory_id,
      (case when c.embedding_model = model then c.embedding else c.next_embedding end) <=> p.vector as distance
    from muniment.memories c
    where c.space_id = at_space and c.state = 'active' and c.kind = p.kind
      and (c.embedding_model = model or c.next_model = model)
    order by distance, c.memory_id limit most
  ) close
  order by p.n, close.distance, close.memory_id;
end $$;
