-- A record writes the row of a session once, and a commit of turns that are recorded not at all.

-- Inserts or advances a session, and so locks it until the end of the transaction; a row that says all of it is only locked. Whoever
-- locks a session has locked its space before. `added`: how many positions are given, of which the first is returned.
create function muniment.advance_session(
  at_space uuid, at_session text, origin jsonb, first_at timestamptz, latest_at timestamptz, added int, input bigint, output bigint
) returns int language plpgsql as $$
#variable_conflict use_column
declare
  place int;
begin
  insert into muniment.sessions as s (space_id, session_id, app_id, project_id, agent_id, started_at, last_at, turns, input_tokens,
    output_tokens)
  values (at_space, at_session, origin ->> 'app_id', origin ->> 'project_id', origin ->> 'agent_id', first_at, latest_at, added,
    input, output)
  on conflict (space_id, session_id) do update set
    started_at = least(s.started_at, excluded.started_at), last_at = greatest(s.last_at, excluded.last_at),
    ended_at = case when s.ended_at >= excluded.last_at then s.ended_at end,
    ended_why = case when s.ended_at >= excluded.last_at then s.ended_why end,
    app_id = coalesce(s.app_id, excluded.app_id), project_id = coalesce(s.project_id, excluded.project_id),
    agent_id = coalesce(s.agent_id, excluded.agent_id), turns = s.turns + excluded.turns,
    input_tokens = s.input_tokens + excluded.input_tokens, output_tokens = s.output_tokens + excluded.output_tokens
  where excluded.turns > 0 or excluded.started_at < s.started_at or excluded.last_at > s.last_at or excluded.last_at > s.ended_at
    or s.app_id is null and excluded.app_id is not null or s.project_id is null and excluded.project_id is not null
    or s.agent_id is null and excluded.agent_id is not null
  returning s.turns - added into place;
  return place;
end $$;
comment on function muniment.advance_session(uuid, text, jsonb, timestamptz, timestamptz, int, bigint, bigint) is
  'Inserts or advances a session, and gives it positions. Returns the first of them.';

create or replace function muniment.keep_sessions(at_space uuid, said jsonb, now timestamptz) returns void language plpgsql as $$
#variable_conflict use_column
declare
  one record;
begin
  for one in
    select t.session, (array_agg(t.line))[1] as origin, min(t.at) as first_at, max(t.at) as latest_at
    from (
      select muniment.session_of(told.line ->> 'session_id', told.line ->> 'thread_id') as session, told.line,
        least((told.line ->> 'at')::timestamptz, now) as at
      from jsonb_array_elements(said) told (line)) t
    group by t.session order by t.session
  loop
    perform muniment.advance_session(at_space, one.session, one.origin, one.first_at, one.latest_at, 0, 0, 0);
  end loop;
end $$;

-- Turns that are not recorded yet get the next positions of their sessions. What is recorded already stays as it is, and a call
-- with such turns alone changes nothing and waits for nobody. `due`: when the first of them has to go. With `founding`, the row of the
-- space, the function enters the space, and inserts it where it is new.
drop function muniment.record_turns(uuid, jsonb, timestamptz, timestamptz);
create function muniment.record_turns(at_space uuid, said jsonb, now timestamptz, due timestamptz, founding jsonb default null) returns void
language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
#variable_conflict use_column
declare
  known uuid[];
  first_due timestamptz;
  one record;
  place int;
begin
  if founding is not null then
    perform muniment.enter_space(at_space);
  end if;
  known := muniment.find_recorded(at_space, said);
  if cardinality(known) = jsonb_array_length(said) then
    return;
  end if;
  -- Maintenance and erasures lock the space, and so see all turns or none, and nobody else puts off when it is due.
  select tend_at into first_due from muniment.spaces where space_id = at_space for key share;
  if not found and founding is not null then
    insert into muniment.spaces (space_id, tenant_id, owner_id, owner_type, rev, created_at)
    select at_space, s.tenant_id, s.owner_id, s.owner_type, 0, s.created_at
    from jsonb_populate_record(null::muniment.spaces, founding) s
    on conflict (space_id) do nothing;
    select tend_at into first_due from muniment.spaces where space_id = at_space for key share;
  end if;
  if due < coalesce(first_due, 'infinity') then
    update muniment.spaces set tend_at = least(due, timestamptz '9998-12-31')
    where space_id = at_space and (tend_at is null or tend_at > due);
  end if;
  for one in
    select t.session, jsonb_agg(t.line order by t.at, t.n) as said, array_agg(t.turn_id) as ids, min(least(t.at, now)) as first_at,
      max(least(t.at, now)) as latest_at, coalesce(sum((t.line #>> '{payload,tokens,input}')::bigint), 0)::bigint as input,
      coalesce(sum((t.line #>> '{payload,tokens,output}')::bigint), 0)::bigint as output
    from (
      select muniment.session_of(told.line ->> 'session_id', told.line ->> 'thread_id') as session, told.line, told.n,
        (told.line ->> 'turn_id')::uuid as turn_id, (told.line ->> 'at')::timestamptz as at
      from jsonb_array_elements(said) with ordinality told (line, n)) t
    where t.turn_id <> all(known)
    group by t.session order by t.session
  loop
    place := muniment.advance_session(
      at_space, one.session, one.said -> 0, one.first_at, one.latest_at, cardinality(one.ids), one.input, one.output);
    while one.said is not null loop
      insert into muniment.turns (space_id, turn_id, session_id, thread_id, role, actor, text, at, source, path, tags,
        recalled, said_at, position, kind, payload, visible)
      select at_space, t.turn_id, one.session, t.thread_id, t.role, t.actor, t.text, t.at, t.source, t.path, t.tags,
        t.recalled, statement_timestamp() - (now - t.at), place + t.ordinality - 1, t.kind, t.payload, t.visible
      from jsonb_populate_recordset(null::muniment.turns, one.said) with ordinality t
      where not exists (
        select from muniment.turns o
        where o.space_id = at_space and o.turn_id = any(one.ids) and coalesce(o.position, -1) >= 0)
      on conflict (space_id, turn_id) do update set position = excluded.position, session_id = excluded.session_id,
        kind = excluded.kind, payload = excluded.payload, visible = excluded.visible;
      exit when found;
      -- Some were recorded while the session was waited for: they have been counted, and get no position.
      known := muniment.find_recorded(at_space, one.said);
      update muniment.sessions s set turns = s.turns - a.n, input_tokens = s.input_tokens - a.input,
        output_tokens = s.output_tokens - a.output
      from (
        select count(*) as n, coalesce(sum((t.payload #>> '{tokens,input}')::bigint), 0) as input,
          coalesce(sum((t.payload #>> '{tokens,output}')::bigint), 0) as output
        from jsonb_populate_recordset(null::muniment.turns, one.said) t where t.turn_id = any(known)) a
      where s.space_id = at_space and s.session_id = one.session;
      select jsonb_agg(told.line order by told.n), array_agg((told.line ->> 'turn_id')::uuid) into one.said, one.ids
      from jsonb_array_elements(one.said) with ordinality told (line, n) where (told.line ->> 'turn_id')::uuid <> all(known);
    end loop;
  end loop;
end $$;
comment on function muniment.record_turns(uuid, jsonb, timestamptz, timestamptz, jsonb) is
  'Appends turns to their sessions; those that are recorded stay as they are.';

-- A row is a statement, as a cluster plans them. The writer has the row of the space, so nobody else writes observations of it.
create or replace function muniment.keep_observations(at_space uuid, observed jsonb, at_rev bigint) returns void language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
#variable_conflict use_column
declare
  o muniment.observations;
  known muniment.observations;
  said uuid[];
  session text;
begin
  for o in select * from jsonb_populate_recordset(null::muniment.observations, observed) loop
    if o.turns is distinct from said then
      said := o.turns;
      select min(s.session_id) into session
      from muniment.turns t join muniment.sessions s on s.space_id = at_space and s.session_id = t.session_id
      where t.space_id = at_space and t.turn_id = any(said);
    end if;
    o.session_id := session;
    o.observation_id := left(encode(sha256(convert_to(coalesce(o.session_id, '') || chr(31) || o.stable_key, 'UTF8')), 'hex'), 32)::uuid;
    insert into muniment.observations (space_id, observation_id, session_id, kind, stable_key, statement, fact, category, confidence,
      importance, trust, turns, found_by, memory_id, outcome, rev, at)
    values (at_space, o.observation_id, o.session_id, o.kind, o.stable_key, o.statement, o.fact, o.category, o.confidence,
      o.importance, o.trust, o.turns, o.found_by, o.memory_id, o.outcome, at_rev, o.at)
    on conflict (space_id, observation_id) do nothing;
    continue when found;
    select * into known from muniment.observations k where k.space_id = at_space and k.observation_id = o.observation_id;
    o.turns := array(select distinct turn from unnest(known.turns || o.turns) turn);
    if known.memory_id is not null or o.memory_id is null then  -- what came of it first stays
      o.memory_id := known.memory_id;
      o.outcome := known.outcome;
    end if;
    if o.turns <@ known.turns and o.memory_id is not distinct from known.memory_id then
      continue;
    end if;
    update muniment.observations set turns = o.turns, memory_id = o.memory_id, outcome = o.outcome, rev = at_rev
    where space_id = at_space and observation_id = o.observation_id;
  end loop;
end $$;
