-- A line of the journal has the category that its memory had then, so that a reader with an allowlist sees the lines of its categories
-- alone, at the price of one comparison. Of the revisions and times of a space, and of the cursor of its own thread, such a reader learns
-- by functions that answer one question each.
alter table muniment.journal add column category text;
comment on column muniment.journal.category is
  'The category that the memory had then. Null: the line is of a former version, and the memory was erased; only who may read all sees it.';

-- The owner is held by row-level security, too, and fills the column.
alter table muniment.journal no force row level security;
alter table muniment.memories no force row level security;
alter table muniment.memory_versions no force row level security;
update muniment.journal j set category = v.category from muniment.memory_versions v
where v.space_id = j.space_id and v.memory_id = j.memory_id and v.from_rev = j.rev;
update muniment.journal j set category = m.category from muniment.memories m
where m.space_id = j.space_id and m.memory_id = j.memory_id and j.category is null;
alter table muniment.journal force row level security;
alter table muniment.memories force row level security;
alter table muniment.memory_versions force row level security;

alter policy journal_own on muniment.journal
  using (space_id = any((select muniment.my_spaces())::uuid[])
    and ((select muniment.all_categories()) or category = any((select muniment.my_categories())::text[])));
drop policy thread_revision_read on muniment.thread_revision;

-- Each looks at all categories of the space that is entered, and tells a number.
create function muniment.read_cursor(at_space uuid, thread text) returns bigint language plpgsql stable
set app.categories = '*' as $$
begin
  return (select t.rev from muniment.thread_revision t where t.space_id = at_space and t.thread_id = thread);
end $$;
comment on function muniment.read_cursor(uuid, text) is 'The revision up to which a thread was told what has changed; null for a thread that was told nothing.';

create function muniment.revision_before(at_space uuid, moment timestamptz) returns bigint language plpgsql stable
set app.categories = '*' as $$
begin
  return (select j.rev from muniment.journal j where j.space_id = at_space and j.ts < moment order by j.rev desc limit 1);
end $$;
comment on function muniment.revision_before(uuid, timestamptz) is 'The last revision of a space before a time; null without one.';

create function muniment.time_after(at_space uuid, at_rev bigint) returns timestamptz language plpgsql stable
set app.categories = '*' as $$
begin
  return (select j.ts from muniment.journal j where j.space_id = at_space and j.rev > at_rev order by j.rev limit 1);
end $$;
comment on function muniment.time_after(uuid, bigint) is 'The time of the first change of a space after a revision; null without one.';

-- As before, with the category of each line.
create or replace function muniment.apply_changes(
  at_space uuid, memories jsonb, embeddings halfvec[], weights sparsevec[], lines jsonb, fresh boolean
) returns void language plpgsql as $$
#variable_conflict use_column
declare made_with text := jsonb_path_query_first(memories, '$[*].embedding_model') #>> '{}';
begin
  if made_with is not null then
    perform muniment.expect_embedder(made_with);
  end if;
  -- A process of the former version does not know the other names: what it changes keeps them.
  if jsonb_path_exists(memories, '$[*] ? (!exists(@.aliases))') then
    memories := (
      select jsonb_agg(jsonb_build_object('aliases', coalesce((
        select b.aliases from muniment.memories b
        where b.space_id = at_space and b.memory_id = (one.row ->> 'memory_id')::uuid), '{}')) || one.row order by one.n)
      from jsonb_array_elements(memories) with ordinality one (row, n));
  end if;
  if fresh then
    insert into muniment.memories (
      space_id, memory_id, kind, category, text, fact, stable_key, importance, confidence, trust, pinned, state, tags,
      agent_id, run_id, actor_id, role, session_id, thread_id, event_time, created_at, updated_at, access_count,
      purge_at, rev, superseded_by, context, turns, aliases, embedding, embedding_model, words)
    select at_space, m.memory_id, m.kind, m.category, m.text, m.fact, m.stable_key, m.importance, m.confidence, m.trust,
      m.pinned, m.state, m.tags, m.agent_id, m.run_id, m.actor_id, m.role, m.session_id, m.thread_id, m.event_time,
      m.created_at, m.updated_at, 0, m.purge_at, m.rev, m.superseded_by, m.context, m.turns,
      m.aliases, embeddings[m.ordinality], m.embedding_model, weights[m.ordinality]
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
      purge_at, superseded_by, context, turns, aliases, embedding, embedding_model, words,
      next_embedding, next_model)
    select at_space, b.memory_id, b.rev, m.rev, b.kind, b.category, b.text, b.fact, b.stable_key, b.importance,
      b.confidence, b.trust, b.pinned, b.state, b.tags, b.agent_id, b.run_id, b.actor_id, b.role, b.session_id,
      b.thread_id, b.event_time, b.created_at, b.updated_at, b.purge_at, b.superseded_by, b.context, b.turns, b.aliases,
      b.embedding, b.embedding_model, b.words, b.next_embedding, b.next_model
    from before b join incoming m on m.memory_id = b.memory_id
  ), written as (
    insert into muniment.memories (
      space_id, memory_id, kind, category, text, fact, stable_key, importance, confidence, trust, pinned, state, tags,
      agent_id, run_id, actor_id, role, session_id, thread_id, event_time, created_at, updated_at, access_count,
      purge_at, rev, superseded_by, context, turns, aliases, embedding, embedding_model, words,
      next_embedding, next_model)
    select at_space, m.memory_id, m.kind, m.category, m.text, m.fact, m.stable_key, m.importance, m.confidence, m.trust,
      m.pinned, m.state, m.tags, m.agent_id, m.run_id, m.actor_id, m.role, m.session_id, m.thread_id, m.event_time,
      m.created_at, m.updated_at, 0, m.purge_at, m.rev, m.superseded_by, m.context, m.turns,
      m.aliases, coalesce(embeddings[m.ordinality], b.embedding), coalesce(m.embedding_model, b.embedding_model),
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
      context = excluded.context, turns = excluded.turns, aliases = excluded.aliases, embedding = excluded.embedding,
      embedding_model = excluded.embedding_model, words = excluded.words,
      next_embedding = excluded.next_embedding, next_model = excluded.next_model
  )
  insert into muniment.journal (
    space_id, rev, memory_id, action, old_ref, new_ref, thread_id, node, actor, band, sim, meta, ts, category)
  select at_space, j.rev, j.memory_id, j.action, j.memory_id || '@' || b.rev, j.memory_id || '@' || j.rev, j.thread_id,
    j.node, j.actor, j.band, j.sim, j.meta, j.ts, i.category
  from jsonb_populate_recordset(null::muniment.journal, lines) j join incoming i on i.memory_id = j.memory_id
    left join before b on b.memory_id = j.memory_id;
end $$;
