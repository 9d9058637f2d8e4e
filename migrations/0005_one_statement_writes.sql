-- A whole plan as one statement. A transaction that is one statement needs one round trip and cannot be left half done;
-- a function, because row-level security wants the space entered by a statement before the first that reads.
-- `fresh`: none of the memories was there before, and there is nothing to archive.
create function muniment.apply_changes(
  at_space uuid, memories jsonb, embeddings halfvec[], weights sparsevec[], lines jsonb, fresh boolean
) returns void language plpgsql as $$
#variable_conflict use_column
begin
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
      purge_at, superseded_by, context, turns, embedding, embedding_model, words)
    select at_space, b.memory_id, b.rev, m.rev, b.kind, b.category, b.text, b.fact, b.stable_key, b.importance,
      b.confidence, b.trust, b.pinned, b.state, b.tags, b.agent_id, b.run_id, b.actor_id, b.role, b.session_id,
      b.thread_id, b.event_time, b.created_at, b.updated_at, b.purge_at, b.superseded_by, b.context, b.turns,
      b.embedding, b.embedding_model, b.words
    from before b join incoming m on m.memory_id = b.memory_id
  ), written as (
    insert into muniment.memories (
      space_id, memory_id, kind, category, text, fact, stable_key, importance, confidence, trust, pinned, state, tags,
      agent_id, run_id, actor_id, role, session_id, thread_id, event_time, created_at, updated_at, access_count,
      purge_at, rev, superseded_by, context, turns, embedding, embedding_model, words)
    select at_space, m.memory_id, m.kind, m.category, m.text, m.fact, m.stable_key, m.importance, m.confidence, m.trust,
      m.pinned, m.state, m.tags, m.agent_id, m.run_id, m.actor_id, m.role, m.session_id, m.thread_id, m.event_time,
      m.created_at, m.updated_at, 0, m.purge_at, m.rev, m.superseded_by, m.context, m.turns,
      coalesce(embeddings[m.ordinality], b.embedding), coalesce(m.embedding_model, b.embedding_model),
      weights[m.ordinality]
    from incoming m left join before b on b.memory_id = m.memory_id order by m.ordinality
    on conflict (space_id, memory_id) do update set
      kind = excluded.kind, category = excluded.category, text = excluded.text, fact = excluded.fact,
      stable_key = excluded.stable_key, importance = excluded.importance, confidence = excluded.confidence,
      trust = excluded.trust, pinned = excluded.pinned, state = excluded.state, tags = excluded.tags,
      actor_id = excluded.actor_id, role = excluded.role, session_id = excluded.session_id,
      thread_id = excluded.thread_id, event_time = excluded.event_time, updated_at = excluded.updated_at,
      purge_at = excluded.purge_at, rev = excluded.rev, superseded_by = excluded.superseded_by,
      context = excluded.context, turns = excluded.turns, embedding = excluded.embedding,
      embedding_model = excluded.embedding_model, words = excluded.words
  )
  insert into muniment.journal (
    space_id, rev, memory_id, action, old_ref, new_ref, thread_id, node, actor, band, sim, meta, ts)
  select at_space, j.rev, j.memory_id, j.action, j.memory_id || '@' || b.rev, j.memory_id || '@' || j.rev, j.thread_id,
    j.node, j.actor, j.band, j.sim, j.meta, j.ts
  from jsonb_populate_recordset(null::muniment.journal, lines) j left join before b on b.memory_id = j.memory_id;
end $$;

-- `founding`: the row of a space that may be new, else null. What a plan does not carry is null, too.
create function muniment.commit_plan(
  at_space uuid, founding jsonb, expected bigint, changes int, memories jsonb, embeddings halfvec[],
  weights sparsevec[], lines jsonb, fresh boolean, consumed jsonb, extracted jsonb, edges jsonb
) returns void language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
#variable_conflict use_column
begin
  perform muniment.enter_space(at_space);
  if founding is not null then
    insert into muniment.spaces (space_id, tenant_id, owner_id, owner_type, rev, created_at)
    select at_space, s.tenant_id, s.owner_id, s.owner_type, 0, s.created_at
    from jsonb_populate_record(null::muniment.spaces, founding) s
    on conflict (space_id) do nothing;
  end if;
  update muniment.spaces set rev = rev + changes where space_id = at_space and rev = expected;
  if not found then
    perform muniment.refuse('40001', 'the space is no longer at revision ' || expected);
  end if;
  if consumed is not null then
    insert into muniment.turns (space_id, turn_id, session_id, thread_id, role, actor, text, at, source, path, tags,
      recalled, consumed_rev)
    select at_space, t.turn_id, t.session_id, t.thread_id, t.role, t.actor, t.text, t.at, t.source, t.path, t.tags,
      t.recalled, expected + changes
    from jsonb_populate_recordset(null::muniment.turns, consumed) t
    on conflict (space_id, turn_id) do update set consumed_rev = excluded.consumed_rev
    where turns.consumed_rev is null;
    if not found then
      perform muniment.refuse('MU001', 'every turn of the plan is consumed');
    end if;
  end if;
  if extracted is not null then
    insert into muniment.extractions (
      space_id, turn_id, source, found, written, repaired, refused, prompt, model, rev, at)
    select at_space, e.turn_id, e.source, e.found, changes, e.repaired, e.refused, e.prompt, e.model,
      expected + changes, e.at
    from jsonb_populate_record(null::muniment.extractions, extracted) e
    on conflict (space_id, turn_id, source) do nothing;
    if not found then
      perform muniment.refuse('MU001', 'extracted before');
    end if;
  end if;
  perform muniment.apply_changes(at_space, memories, embeddings, weights, lines, fresh);
  if edges is not null then
    insert into muniment.relations (space_id, from_id, to_id, relation_type, strength, created_at)
    select at_space, r.from_id, r.to_id, r.relation_type, r.strength, r.created_at
    from jsonb_populate_recordset(null::muniment.relations, edges) r
    on conflict (space_id, from_id, to_id) do update set strength = excluded.strength;
  end if;
end $$;

-- What a candidate meets: first the space's revision alone (n = 0), then of each probe the active memories of its kind
-- that have its key or begin with its attribute (`sim` null), and the closest ones. A writer that comes between the two
-- makes the revision outdated, and a plan with it fails: no snapshot has to hold them together.
create function muniment.near(
  at_space uuid, kinds text[], keys text[], attributes text[], vectors halfvec[], model text, most int
) returns table (n bigint, rev bigint, same_key boolean, sim float8, found muniment.memories)
language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
#variable_conflict use_column
begin
  perform muniment.enter_space(at_space);
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
    select c.memory_id, c.embedding <=> p.vector as distance from muniment.memories c
    where c.space_id = at_space and c.state = 'active' and c.kind = p.kind and c.embedding_model = model
    order by c.embedding <=> p.vector, c.memory_id limit most
  ) close
  order by p.n, close.distance, close.memory_id;
end $$;
