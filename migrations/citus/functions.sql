-- What of the schema's functions Citus does not plan as it stands: no insert beside other statements in one, and none from a
-- select without row-level security's refusal of the copy that it is made of. Here each row is a statement, with the same
-- outcome; `tests/integration/test_citus.py` holds one against the other on a plain Postgres.
create or replace function muniment.write_changes(
  at_space uuid, memories jsonb, embeddings halfvec[], weights sparsevec[], lines jsonb, fresh boolean
) returns void language plpgsql as $$
#variable_conflict use_column
declare
  made_with text := jsonb_path_query_first(memories, '$[*].embedding_model') #>> '{}';
  m muniment.memories;
  b muniment.memories;
  j muniment.journal;
  n bigint;
  given jsonb;
  revs jsonb := '{}';
  categories jsonb := (select jsonb_object_agg(one ->> 'memory_id', one -> 'category') from jsonb_array_elements(memories) one);
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
  for given, n in select * from jsonb_array_elements(memories) with ordinality loop
    m := jsonb_populate_record(null::muniment.memories, given);
    b := null;
    if not fresh then
      select * into b from muniment.memories o where o.space_id = at_space and o.memory_id = m.memory_id;
    end if;
    if b.memory_id is not null then
      revs := revs || jsonb_build_object(b.memory_id, b.rev);
      insert into muniment.memory_versions (
        space_id, memory_id, from_rev, to_rev, kind, category, text, fact, stable_key, importance, confidence, trust,
        pinned, state, tags, agent_id, run_id, actor_id, role, session_id, thread_id, event_time, created_at, updated_at,
        purge_at, superseded_by, context, turns, aliases, project_id, app_id, reach, source, expires_at,
        embedding, embedding_model, words, next_embedding, next_model)
      values (at_space, b.memory_id, b.rev, m.rev, b.kind, b.category, b.text, b.fact, b.stable_key, b.importance,
        b.confidence, b.trust, b.pinned, b.state, b.tags, b.agent_id, b.run_id, b.actor_id, b.role, b.session_id,
        b.thread_id, b.event_time, b.created_at, b.updated_at, b.purge_at, b.superseded_by, b.context, b.turns, b.aliases,
        b.project_id, b.app_id, b.reach, b.source, b.expires_at,
        b.embedding, b.embedding_model, b.words, b.next_embedding, b.next_model);
    end if;
    if m.embedding_model is not null then
      b.next_embedding := null;
      b.next_model := null;
    end if;
    m.embedding := coalesce(embeddings[n], b.embedding);
    m.embedding_model := coalesce(m.embedding_model, b.embedding_model);
    m.words := weights[n];
    if fresh then
      insert into muniment.memories (
        space_id, memory_id, kind, category, text, fact, stable_key, importance, confidence, trust, pinned, state, tags,
        agent_id, run_id, actor_id, role, session_id, thread_id, event_time, created_at, updated_at, access_count,
        purge_at, rev, superseded_by, context, turns, aliases, project_id, app_id, reach, source, expires_at,
        embedding, embedding_model, words)
      values (at_space, m.memory_id, m.kind, m.category, m.text, m.fact, m.stable_key, m.importance, m.confidence,
        m.trust, m.pinned, m.state, m.tags, m.agent_id, m.run_id, m.actor_id, m.role, m.session_id, m.thread_id,
        m.event_time, m.created_at, m.updated_at, 0, m.purge_at, m.rev, m.superseded_by, m.context, m.turns, m.aliases,
        m.project_id, m.app_id, m.reach, m.source, m.expires_at,
        m.embedding, m.embedding_model, m.words);
    else
      insert into muniment.memories (
        space_id, memory_id, kind, category, text, fact, stable_key, importance, confidence, trust, pinned, state, tags,
        agent_id, run_id, actor_id, role, session_id, thread_id, event_time, created_at, updated_at, access_count,
        purge_at, rev, superseded_by, context, turns, aliases, project_id, app_id, reach, source, expires_at,
        embedding, embedding_model, words, next_embedding, next_model)
      values (at_space, m.memory_id, m.kind, m.category, m.text, m.fact, m.stable_key, m.importance, m.confidence,
        m.trust, m.pinned, m.state, m.tags, m.agent_id, m.run_id, m.actor_id, m.role, m.session_id, m.thread_id,
        m.event_time, m.created_at, m.updated_at, 0, m.purge_at, m.rev, m.superseded_by, m.context, m.turns, m.aliases,
        m.project_id, m.app_id, m.reach, m.source, m.expires_at,
        m.embedding, m.embedding_model, m.words, b.next_embedding, b.next_model)
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
        next_embedding = excluded.next_embedding, next_model = excluded.next_model;
    end if;
  end loop;
  for j in select * from jsonb_populate_recordset(null::muniment.journal, lines) loop
    insert into muniment.journal (
      space_id, rev, memory_id, action, old_ref, new_ref, thread_id, node, actor, band, sim, meta, ts, category)
    values (at_space, j.rev, j.memory_id, j.action, j.memory_id || '@' || (revs ->> j.memory_id::text),
      j.memory_id || '@' || j.rev, j.thread_id, j.node, j.actor, j.band, j.sim, j.meta, j.ts,
      categories ->> j.memory_id::text);
  end loop;
end $$;

create or replace function muniment.commit_memories(
  at_space uuid, founding jsonb, expected bigint, changes int, memories jsonb, embeddings halfvec[],
  weights sparsevec[], lines jsonb, fresh boolean, consumed jsonb, extracted jsonb, edges jsonb
) returns void language plpgsql set enable_seqscan = off as $$
#variable_conflict use_column
declare
  s muniment.spaces := jsonb_populate_record(null::muniment.spaces, founding);
  e muniment.extractions := jsonb_populate_record(null::muniment.extractions, extracted);
  t muniment.turns;
  r muniment.relations;
  taken boolean := false;
begin
  perform muniment.enter_space(at_space);
  if founding is not null then
    insert into muniment.spaces (space_id, tenant_id, owner_id, owner_type, rev, created_at)
    values (at_space, s.tenant_id, s.owner_id, s.owner_type, 0, s.created_at)
    on conflict (space_id) do nothing;
  end if;
  update muniment.spaces set rev = rev + changes,
    projected_rev = case when projected_rev = rev and not jsonb_path_exists(memories, '$[*] ? (!exists(@.slots))')
      then rev + changes else projected_rev end
  where space_id = at_space and rev = expected;
  if not found then
    perform muniment.refuse('40001', 'the space is no longer at revision ' || expected);
  end if;
  if consumed is not null then
    perform muniment.keep_sessions(
      at_space, consumed, coalesce(lines -> 0 ->> 'ts', extracted ->> 'at')::timestamptz);
    for t in select * from jsonb_populate_recordset(null::muniment.turns, consumed) loop
      insert into muniment.turns (space_id, turn_id, session_id, thread_id, role, actor, text, at, source, path, tags,
        recalled, consumed_rev, said_at, kind, payload, visible)
      values (at_space, t.turn_id, muniment.session_of(t.session_id, t.thread_id), t.thread_id, t.role, t.actor, t.text,
        t.at, t.source, t.path, t.tags, t.recalled, expected + changes, statement_timestamp() - (
          coalesce(lines -> 0 ->> 'ts', extracted ->> 'at')::timestamptz - t.at),
        coalesce(t.kind, 'message'), t.payload, coalesce(t.visible, true))
      on conflict (space_id, turn_id) do update set consumed_rev = excluded.consumed_rev
      where turns.consumed_rev is null;
      taken := taken or found;
    end loop;
    if not taken then
      perform muniment.refuse('MU001', 'every turn of the plan is consumed');
    end if;
  end if;
  if extracted is not null then
    insert into muniment.extractions (
      space_id, turn_id, source, found, written, repaired, refused, prompt, model, rev, at)
    values (at_space, e.turn_id, e.source, e.found, changes, e.repaired, e.refused, e.prompt, e.model,
      expected + changes, e.at)
    on conflict (space_id, turn_id, source) do nothing;
    if not found then
      perform muniment.refuse('MU001', 'extracted before');
    end if;
    if extracted ->> 'prompt' like 'extract-%' and not exists (
        select from muniment.turns t where t.space_id = at_space and t.turn_id = (extracted ->> 'turn_id')::uuid)
      or (extracted ->> 'since')::bigint > expected or exists (
        select from muniment.journal j
        where j.space_id = at_space and j.rev > (extracted ->> 'since')::bigint and j.meta ? 'hard') then
      perform muniment.refuse('40001', 'what was looked at has been erased');
    end if;
  end if;
  perform muniment.write_changes(at_space, memories, embeddings, weights, lines, fresh);
  if lines -> 0 is not null then
    perform muniment.seal_lines(at_space, (lines -> 0 ->> 'rev')::bigint - 1);
  end if;
  perform muniment.project_changes(at_space, memories);
  if edges is not null then
    for r in select * from jsonb_populate_recordset(null::muniment.relations, edges) loop
      insert into muniment.relations (space_id, from_id, to_id, relation_type, strength, created_at)
      values (at_space, r.from_id, r.to_id, r.relation_type, r.strength, r.created_at)
      on conflict (space_id, from_id, to_id) do update set strength = excluded.strength;
    end loop;
  end if;
end $$;

create or replace function muniment.seal_lines(at_space uuid, since bigint) returns void language plpgsql as $$
#variable_conflict use_column
declare
  j muniment.journal;
  m muniment.memories;
  secret bytea := muniment.make_salt();
  resealed bytea := '';
  before bytea;
  fresh bytea;
  content bytea;
begin
  if current_setting('client_encoding') <> 'UTF8' then
    perform muniment.seal_lines_in_utf8(at_space, since);
    return;
  end if;
  if current_user = 'muniment_eraser' then
    resealed := muniment.close_reseals(at_space, since + 1);
  end if;
  select coalesce(s.head, muniment.digest_space(s.space_id, s.sealed_from)) into before
  from muniment.spaces s where s.space_id = at_space;
  for j in select * from muniment.journal o where o.space_id = at_space and o.rev > since order by o.rev loop
    select * into m from muniment.memories o where o.space_id = at_space and o.memory_id = j.memory_id and o.rev = j.rev;
    fresh := sha256(secret || int8send(j.rev));
    content := muniment.digest_content(fresh, j.meta, m);
    before := sha256(before || muniment.digest_line(j, content) || resealed);
    resealed := '';
    insert into muniment.seals (space_id, rev, digest, content, salt) values (at_space, j.rev, before, content, fresh);
  end loop;
  if found then
    update muniment.spaces set head = before where space_id = at_space;
  end if;
end $$;

create or replace function muniment.seal_space(at_space uuid) returns void language plpgsql set client_encoding = 'UTF8' as $$
#variable_conflict use_column
declare
  one record;
  j muniment.journal;
  before bytea;
  fresh bytea;
  content bytea;
  latest bigint;
begin
  update muniment.spaces set sealed_from = rev where space_id = at_space;
  select muniment.digest_space(s.space_id, s.sealed_from) into before from muniment.spaces s where s.space_id = at_space;
  for one in
    select o.rev, o.memory_id, 1 as place from muniment.journal o where o.space_id = at_space
    union all
    select m.rev, m.memory_id, 2 from muniment.memories m where m.space_id = at_space
    union all
    select v.from_rev, v.memory_id, 2 from muniment.memory_versions v where v.space_id = at_space
    order by rev, place
  loop
    continue when one.rev = latest;
    latest := one.rev;
    select * into j from muniment.journal o where o.space_id = at_space and o.rev = one.rev;
    if not found then
      j.space_id := at_space;
      j.rev := one.rev;
      j.meta := '{}';
    end if;
    fresh := muniment.make_salt();
    content := muniment.digest_held(at_space, one.memory_id, one.rev, fresh);
    before := sha256(before || muniment.digest_line(j, content));
    insert into muniment.seals (space_id, rev, digest, content, salt) values (at_space, one.rev, before, content, fresh);
  end loop;
  if latest is not null then
    update muniment.spaces set head = before where space_id = at_space;
  end if;
end $$;

create or replace function muniment.project_changes(at_space uuid, memories jsonb) returns setof uuid language plpgsql as $$
#variable_conflict use_column
declare
  given uuid[] := array(select (one ->> 'memory_id')::uuid from jsonb_array_elements(memories) one where one ? 'slots');
  made muniment.projections[] := array(
    select s from jsonb_array_elements(memories) one
    cross join lateral jsonb_populate_recordset(null::muniment.projections, one -> 'slots') s);
  kept uuid[] := array(select m.projection_id from unnest(made) m);
  types text[];
  keys text[];
  beside muniment.projections[];
  r muniment.projections;
begin
  select array_agg(s.type), array_agg(s.key) into types, keys
  from (
    select p.type, p.key from muniment.projections p where p.space_id = at_space and p.memory_id = any(given)
    union
    select m.type, m.key from unnest(made) m
  ) s;
  if types is null then
    return;
  end if;
  return query
  delete from muniment.projections p
  where p.space_id = at_space and p.memory_id = any(given) and p.projection_id <> all(kept)
  returning p.projection_id;
  -- What is assigned goes to the node as a parameter, too, and there nothing says what it is; what is selected into does not.
  select array_agg(p) into beside
  from unnest(types, keys) s (type, key) join muniment.projections p
    on p.space_id = at_space and p.type = s.type and p.key = s.key
  where p.memory_id <> all(given);
  -- One row of a slot is active at any time: what gives way goes first.
  for r in select * from muniment.rank_projections(made || beside) o order by o.status = 'active' loop
    if r.memory_id = any(given) then
      insert into muniment.projections (space_id, projection_id, type, key, memory_id, status, title, data, category, trust,
        memories, rev, superseded_by, at)
      values (at_space, r.projection_id, r.type, r.key, r.memory_id, r.status, r.title, r.data, r.category, r.trust,
        r.memories, r.rev, r.superseded_by, r.at)
      on conflict (space_id, projection_id) do update set status = excluded.status, title = excluded.title,
        data = excluded.data, category = excluded.category, trust = excluded.trust, memories = excluded.memories,
        rev = excluded.rev, superseded_by = excluded.superseded_by, at = excluded.at;
    else
      update muniment.projections p set status = r.status, memories = r.memories, superseded_by = r.superseded_by
      where p.space_id = at_space and p.projection_id = r.projection_id
        and (p.status, p.memories, p.superseded_by) is distinct from (r.status, r.memories, r.superseded_by);
    end if;
  end loop;
end $$;

create or replace function muniment.record_turns(
  at_space uuid, said jsonb, now timestamptz, due timestamptz, founding jsonb default null
) returns void language plpgsql set enable_seqscan = off as $$
#variable_conflict use_column
declare
  f muniment.spaces := jsonb_populate_record(null::muniment.spaces, founding);
  t muniment.turns;
  known uuid[];
  first_due timestamptz;
  one record;
  given jsonb;
  n bigint;
  place int;
begin
  if founding is not null then
    perform muniment.enter_space(at_space);
  end if;
  known := muniment.find_recorded(at_space, said);
  if cardinality(known) = jsonb_array_length(said) then
    return;
  end if;
  select tend_at into first_due from muniment.spaces where space_id = at_space for key share;
  if not found and founding is not null then
    insert into muniment.spaces (space_id, tenant_id, owner_id, owner_type, rev, created_at)
    values (at_space, f.tenant_id, f.owner_id, f.owner_type, 0, f.created_at)
    on conflict (space_id) do nothing;
    select tend_at into first_due from muniment.spaces where space_id = at_space for key share;
  end if;
  if due < coalesce(first_due, 'infinity') then
    update muniment.spaces set tend_at = least(due, timestamptz '9998-12-31')
    where space_id = at_space and (tend_at is null or tend_at > due);
  end if;
  for one in
    select o.session, jsonb_agg(o.line order by o.at, o.n) as said, min(least(o.at, now)) as first_at,
      max(least(o.at, now)) as latest_at, coalesce(sum((o.line #>> '{payload,tokens,input}')::bigint), 0)::bigint as input,
      coalesce(sum((o.line #>> '{payload,tokens,output}')::bigint), 0)::bigint as output
    from (
      select muniment.session_of(told.line ->> 'session_id', told.line ->> 'thread_id') as session, told.line, told.n,
        (told.line ->> 'turn_id')::uuid as turn_id, (told.line ->> 'at')::timestamptz as at
      from jsonb_array_elements(said) with ordinality told (line, n)) o
    where o.turn_id <> all(known)
    group by o.session order by o.session
  loop
    place := muniment.advance_session(at_space, one.session, one.said -> 0, one.first_at, one.latest_at,
      jsonb_array_length(one.said), one.input, one.output);
    known := muniment.find_recorded(at_space, one.said);
    for given, n in select * from jsonb_array_elements(one.said) with ordinality loop
      t := jsonb_populate_record(null::muniment.turns, given);
      if t.turn_id = any(known) then
        update muniment.sessions s set turns = s.turns - 1,
          input_tokens = s.input_tokens - coalesce((t.payload #>> '{tokens,input}')::bigint, 0),
          output_tokens = s.output_tokens - coalesce((t.payload #>> '{tokens,output}')::bigint, 0)
        where s.space_id = at_space and s.session_id = one.session;
        continue;
      end if;
      insert into muniment.turns (space_id, turn_id, session_id, thread_id, role, actor, text, at, source, path, tags,
        recalled, said_at, position, kind, payload, visible)
      values (at_space, t.turn_id, one.session, t.thread_id, t.role, t.actor, t.text, t.at, t.source, t.path, t.tags,
        t.recalled, statement_timestamp() - (now - t.at), place, t.kind, t.payload, t.visible)
      on conflict (space_id, turn_id) do update set position = excluded.position, session_id = excluded.session_id,
        kind = excluded.kind, payload = excluded.payload, visible = excluded.visible;
      place := place + 1;
    end loop;
  end loop;
end $$;

create or replace function muniment.number_turns(at_space uuid, now timestamptz) returns void
language plpgsql set enable_seqscan = off as $$
#variable_conflict use_column
declare
  said jsonb := (
    select jsonb_agg(jsonb_build_object('turn_id', t.turn_id, 'session_id', t.session_id, 'thread_id', t.thread_id, 'at', t.at))
    from muniment.turns t where t.space_id = at_space and t.position is null);
  one record;
  place int;
begin
  if said is null then
    return;
  end if;
  perform from muniment.spaces where space_id = at_space for key share;
  perform muniment.keep_sessions(at_space, said, now);
  for one in
    select o.turn_id, muniment.session_of(o.session_id, o.thread_id) as session
    from jsonb_populate_recordset(null::muniment.turns, said) o order by o.at, o.turn_id
  loop
    update muniment.sessions s set turns = s.turns + 1 where s.space_id = at_space and s.session_id = one.session
    returning s.turns - 1 into place;
    update muniment.turns t set position = place, session_id = one.session,
      kind = case when t.role = 'tool' and t.kind = 'message' then 'tool' else t.kind end
    where t.space_id = at_space and t.turn_id = one.turn_id and t.position is null;
    if not found then
      update muniment.sessions s set turns = s.turns - 1 where s.space_id = at_space and s.session_id = one.session;
    end if;
  end loop;
end $$;

-- A read outside of a transaction block is sent alone, without the settings that were made before it: each makes its own.
create or replace function muniment.near(
  at_space uuid, kinds text[], keys text[], attributes text[], vectors halfvec[], model text, most int, places text[]
) returns table (n bigint, rev bigint, same_key boolean, sim float8, found muniment.memories)
language plpgsql set enable_seqscan = off as $$
#variable_conflict use_column
begin
  perform muniment.expect_embedder(model);
  return query
  with entered as materialized (
    select set_config('app.spaces', array[at_space]::text, true) is not null
      and set_config('app.categories', '*', true) is not null as ok
  )
  select 0::bigint, coalesce((
      select s.rev from muniment.spaces s where s.space_id = at_space and (select ok from entered)), 0),
    null::boolean, null::float8, null::muniment.memories;
  if array_remove(attributes, null) <> '{}' then
    return query
    with entered as materialized (
      select set_config('app.spaces', array[at_space]::text, true) is not null
        and set_config('app.categories', '*', true) is not null as ok
    )
    select kin.n, null::bigint, kin.same_key, null::float8,
      (select m from muniment.memories m where m.space_id = at_space and m.memory_id = kin.memory_id)
    from (
      select p.n, c.memory_id, c.stable_key = p.stable_key as same_key,
        row_number() over (partition by p.n order by c.stable_key = p.stable_key desc, c.rev desc) as place
      from unnest(kinds, keys, attributes, places) with ordinality p (kind, stable_key, attribute, place, n)
      join muniment.memories c on c.space_id = at_space and (select ok from entered) and c.state = 'active'
        and c.stable_key is not null and c.kind = p.kind
        and (c.stable_key = p.stable_key or starts_with(c.stable_key, p.attribute))
        and p.place is not distinct from
          case c.reach when 'project' then 'project:' || c.project_id when 'session' then 'session:' || c.session_id end
    ) kin where kin.place <= 200 order by kin.n, kin.place;
  end if;
  return query
  with entered as materialized (
    select set_config('app.spaces', array[at_space]::text, true) is not null
      and set_config('app.categories', '*', true) is not null as ok
  )
  select p.n, null::bigint, false, 1 - close.distance,
    (select m from muniment.memories m where m.space_id = at_space and m.memory_id = close.memory_id)
  from unnest(kinds, vectors, places) with ordinality p (kind, vector, place, n)
  cross join lateral (
    select c.memory_id,
      (case when c.embedding_model = model then c.embedding else c.next_embedding end) <=> p.vector as distance
    from muniment.memories c
    where c.space_id = at_space and (select ok from entered) and c.state = 'active' and c.kind = p.kind
      and (c.embedding_model = model or c.next_model = model)
      and p.place is not distinct from
          case c.reach when 'project' then 'project:' || c.project_id when 'session' then 'session:' || c.session_id end
    order by distance, c.memory_id limit most
  ) close
  order by p.n, close.distance, close.memory_id;
end $$;

-- Citus looks at each part of an expression before the whole: no part of this fails, whatever the setting is.
create or replace function muniment.my_categories() returns text[] language sql stable parallel safe as
$$ select nullif(nullif(current_setting('app.categories', true), ''), '*')::text[] $$;

-- Citus makes no plan whose parameters are unknown.
do $$
declare
  made text;
begin
  foreach made in array array(
    select format('alter function %s reset plan_cache_mode', p.oid::regprocedure)
    from pg_proc p where p.pronamespace = 'muniment'::regnamespace and exists (
      select from unnest(p.proconfig) setting where starts_with(setting, 'plan_cache_mode='))
    order by 1)
  loop
    execute made;
  end loop;
end $$;
