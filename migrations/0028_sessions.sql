-- A session has a row, and its turns are numbered events of a kind: messages, uses of tools, files that were read, written or
-- uploaded, and entries for an audit, which no search finds.
create table muniment.sessions (
  space_id uuid not null,
  session_id text not null,
  app_id text,
  project_id text,
  agent_id text,
  started_at timestamptz not null,
  last_at timestamptz not null,
  ended_at timestamptz,
  ended_why text,
  metadata jsonb not null default '{}',
  input_tokens bigint not null default 0,
  output_tokens bigint not null default 0,
  turns int not null default 0,
  built_to int not null default 0,
  own_retention boolean not null default false,
  retention_days int,
  constraint sessions_pk primary key (space_id, session_id),
  constraint sessions_space_fk foreign key (space_id) references muniment.spaces (space_id),
  constraint sessions_ended check ((ended_at is null) = (ended_why is null)),
  constraint sessions_metadata check (jsonb_typeof(metadata) = 'object'),
  constraint sessions_retention check (retention_days is null or (own_retention and retention_days > 0))
);
create index sessions_by_time on muniment.sessions (space_id, last_at desc);
create index sessions_open on muniment.sessions (space_id, last_at) where ended_at is null or built_to < turns;
comment on table muniment.sessions is 'A row is a session: what was said and done under one id, whose turns are in `turns`.';
comment on column muniment.sessions.session_id is 'The session, as the program names it; of turns without one their thread, or nothing.';
comment on column muniment.sessions.app_id is 'The application in which it took place.';
comment on column muniment.sessions.project_id is 'The project to which it belongs.';
comment on column muniment.sessions.agent_id is 'The agent that was spoken to first.';
comment on column muniment.sessions.started_at is 'When its first turn was said.';
comment on column muniment.sessions.last_at is 'When its latest turn was said.';
comment on column muniment.sessions.ended_at is 'When it ended; null: it goes on. A later turn lets it go on.';
comment on column muniment.sessions.ended_why is 'Why it ended: call, idle, or what the caller named.';
comment on column muniment.sessions.metadata is 'What the application keeps of it, redacted.';
comment on column muniment.sessions.input_tokens is 'The tokens that models read for its turns, as the turns report them.';
comment on column muniment.sessions.output_tokens is 'The tokens that models wrote for its turns, as the turns report them.';
comment on column muniment.sessions.turns is 'How many positions its turns have got: the next one gets this number.';
comment on column muniment.sessions.built_to is 'The position up to which memories were built from it.';
comment on column muniment.sessions.own_retention is 'Whether `retention_days` holds for it, instead of the setting.';
comment on column muniment.sessions.retention_days is 'The days that it is kept; null with `own_retention`: for ever.';

alter table muniment.sessions enable row level security;
alter table muniment.sessions force row level security;
create policy sessions_own on muniment.sessions to muniment_app
  using (space_id = any((select muniment.my_spaces())::uuid[]) and (select muniment.all_categories()))
  with check (space_id = any((select muniment.my_spaces())::uuid[]) and (select muniment.all_categories()));
comment on policy sessions_own on muniment.sessions is
  'The application reads and writes sessions of the space it has entered; who has an allowlist of categories sees none.';
create policy sessions_eraser on muniment.sessions to muniment_eraser
  using (space_id = any((select muniment.my_spaces())::uuid[]) and (select muniment.all_categories()))
  with check (space_id = any((select muniment.my_spaces())::uuid[]) and (select muniment.all_categories()));
comment on policy sessions_eraser on muniment.sessions is
  'The eraser sees, removes and changes rows of the space it has entered, as far as its grants go.';
create policy sessions_keeper on muniment.sessions for select to muniment_keeper
  using ((select muniment.my_spaces()) is null);
comment on policy sessions_keeper on muniment.sessions is
  'The keeper finds spaces with sessions to end, in transactions that enter no space.';
grant select (space_id, last_at, ended_at, built_to, turns) on muniment.sessions to muniment_keeper;
grant select, insert, update on muniment.sessions to muniment_app;
grant select, delete, update (metadata) on muniment.sessions to muniment_eraser;

alter table muniment.turns add column position int, add column kind text not null default 'message', add column payload jsonb,
  add column visible boolean not null default true, add column words sparsevec,
  add constraint turns_kind check (kind in ('message', 'tool', 'file', 'audit'));
-- A search reads the words of many turns: they stay in the row, and a long text goes out of it.
alter table muniment.turns alter column words set storage main;
comment on column muniment.turns.position is 'Its number in its session, from 0. Null until it is recorded: then it was only learned from.';
comment on column muniment.turns.kind is 'message, tool, file (read, written or uploaded) or audit (which no search finds).';
comment on column muniment.turns.payload is 'What a program keeps of it as JSON, redacted.';
comment on column muniment.turns.visible is 'Whether a search may find it.';
comment on column muniment.turns.words is 'Its words as dimensions, weighted as those of memories; null until they are read.';

-- The turns that there are: each belongs to a session, and has a number by the order in which they were said.
alter table muniment.turns no force row level security;
alter table muniment.sessions no force row level security;
update muniment.turns t set kind = case when t.role = 'tool' then 'tool' else 'message' end, session_id = o.session, position = o.n - 1
from (
  select space_id, turn_id, coalesce(nullif(session_id, ''), thread_id, '') as session,
    row_number() over (partition by space_id, coalesce(nullif(session_id, ''), thread_id, '') order by at, turn_id) as n
  from muniment.turns) o
where t.space_id = o.space_id and t.turn_id = o.turn_id;
insert into muniment.sessions (space_id, session_id, started_at, last_at, turns)
select space_id, session_id, min(at), max(at), count(*) from muniment.turns group by space_id, session_id;
alter table muniment.turns force row level security;
alter table muniment.sessions force row level security;

create unique index turns_by_position on muniment.turns (space_id, session_id, position);
create index turns_unnumbered on muniment.turns (space_id) where position is null;
create index turns_unread on muniment.turns (space_id) where words is null and kind <> 'audit';

-- The session of a turn: its own, or its thread, or the one of all others.
create function muniment.session_of(session text, thread text) returns text language sql immutable parallel safe as
$$ select coalesce(nullif(session, ''), thread, '') $$;
comment on function muniment.session_of(text, text) is 'The session of a turn: its own, or else its thread.';

-- Inserts or advances the sessions of turns, and so locks them until the end of the transaction. Whoever locks a session has
-- locked its space before.
create function muniment.keep_sessions(at_space uuid, said jsonb, now timestamptz) returns void language plpgsql as $$
#variable_conflict use_column
begin
  insert into muniment.sessions as s (space_id, session_id, app_id, project_id, agent_id, started_at, last_at)
  select at_space, t.session, (array_agg(t.origin ->> 'app_id'))[1], (array_agg(t.origin ->> 'project_id'))[1],
    (array_agg(t.origin ->> 'agent_id'))[1], min(t.at), max(t.at)
  from (
    select muniment.session_of(o.session_id, o.thread_id) as session, said -> (o.ordinality - 1)::int as origin,
      least(o.at, coalesce(now, o.at)) as at
    from jsonb_populate_recordset(null::muniment.turns, said) with ordinality o) t
  group by t.session order by t.session
  on conflict (space_id, session_id) do update set
    started_at = least(s.started_at, excluded.started_at), last_at = greatest(s.last_at, excluded.last_at),
    ended_at = case when s.ended_at >= excluded.last_at then s.ended_at end,
    ended_why = case when s.ended_at >= excluded.last_at then s.ended_why end,
    app_id = coalesce(s.app_id, excluded.app_id), project_id = coalesce(s.project_id, excluded.project_id),
    agent_id = coalesce(s.agent_id, excluded.agent_id);
end $$;
comment on function muniment.keep_sessions(uuid, jsonb, timestamptz) is 'Inserts or advances the sessions of turns.';

-- `coalesce` keeps the planner from the index of positions, in which it would read the whole space.
create function muniment.find_recorded(at_space uuid, said jsonb) returns uuid[] language plpgsql stable as $$
begin
  return array(
    select t.turn_id from muniment.turns t
    where t.space_id = at_space and coalesce(t.position, -1) >= 0
      and t.turn_id = any(array(select (one ->> 'turn_id')::uuid from jsonb_array_elements(said) one)));
end $$;
comment on function muniment.find_recorded(uuid, jsonb) is 'Those of the turns that are recorded: they have a position.';

-- Turns that are not recorded yet get the next positions of their sessions. What is recorded already stays as it is, and a call
-- with such turns alone changes nothing. `due`: when the first of them has to go.
create function muniment.record_turns(at_space uuid, said jsonb, now timestamptz, due timestamptz) returns void
language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
#variable_conflict use_column
declare known uuid[];
begin
  -- Maintenance and erasures lock the space, and so see all turns or none.
  perform from muniment.spaces where space_id = at_space for key share;
  known := muniment.find_recorded(at_space, said);
  said := (
    select jsonb_agg(one.line order by one.n) from jsonb_array_elements(said) with ordinality one (line, n)
    where (one.line ->> 'turn_id')::uuid <> all(known));
  if said is null then
    return;
  end if;
  if due is not null then
    update muniment.spaces set tend_at = least(due, timestamptz '9998-12-31')
    where space_id = at_space and (tend_at is null or tend_at > due);
  end if;
  perform muniment.keep_sessions(at_space, said, now);
  known := muniment.find_recorded(at_space, said);  -- while the session was waited for
  with fresh as materialized (
    select t.*, muniment.session_of(t.session_id, t.thread_id) as session, row_number() over (
        partition by muniment.session_of(t.session_id, t.thread_id) order by t.at, t.ordinality) - 1 as n
    from jsonb_populate_recordset(null::muniment.turns, said) with ordinality t
    where t.turn_id <> all(known)
  ), added as (
    insert into muniment.turns (space_id, turn_id, session_id, thread_id, role, actor, text, at, source, path, tags,
      recalled, said_at, position, kind, payload, visible)
    select at_space, f.turn_id, f.session, f.thread_id, f.role, f.actor, f.text, f.at, f.source, f.path, f.tags,
      f.recalled, statement_timestamp() - (now - f.at), s.turns + f.n, f.kind, f.payload, f.visible
    from fresh f join muniment.sessions s on s.space_id = at_space and s.session_id = f.session
    on conflict (space_id, turn_id) do update set position = excluded.position, session_id = excluded.session_id,
      kind = excluded.kind, payload = excluded.payload, visible = excluded.visible
  )
  update muniment.sessions s set turns = s.turns + a.n, input_tokens = s.input_tokens + a.input,
    output_tokens = s.output_tokens + a.output
  from (
    select session, count(*) as n, coalesce(sum((payload #>> '{tokens,input}')::bigint), 0) as input,
      coalesce(sum((payload #>> '{tokens,output}')::bigint), 0) as output
    from fresh group by session) a
  where s.space_id = at_space and s.session_id = a.session;
end $$;
comment on function muniment.record_turns(uuid, jsonb, timestamptz, timestamptz) is
  'Appends turns to their sessions; those that are recorded stay as they are.';

-- The turns without a position, which were only learned from, imported, or recorded by a process of the former version, get one.
create function muniment.number_turns(at_space uuid, now timestamptz) returns void
language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
#variable_conflict use_column
declare said jsonb := (
  select jsonb_agg(jsonb_build_object('turn_id', t.turn_id, 'session_id', t.session_id, 'thread_id', t.thread_id, 'at', t.at))
  from muniment.turns t where t.space_id = at_space and t.position is null);
begin
  if said is null then
    return;
  end if;
  perform from muniment.spaces where space_id = at_space for key share;
  perform muniment.keep_sessions(at_space, said, now);
  with fresh as materialized (
    select t.turn_id, muniment.session_of(t.session_id, t.thread_id) as session, row_number() over (
        partition by muniment.session_of(t.session_id, t.thread_id) order by t.at, t.turn_id) - 1 as n
    from muniment.turns t
    where t.space_id = at_space and t.position is null
      and muniment.session_of(t.session_id, t.thread_id) = any(array(
        select muniment.session_of(o.session_id, o.thread_id) from jsonb_populate_recordset(null::muniment.turns, said) o))
  ), numbered as (
    update muniment.turns t set position = s.turns + f.n, session_id = f.session,
      kind = case when t.role = 'tool' and t.kind = 'message' then 'tool' else t.kind end
    from fresh f join muniment.sessions s on s.space_id = at_space and s.session_id = f.session
    where t.space_id = at_space and t.turn_id = f.turn_id
  )
  update muniment.sessions s set turns = s.turns + a.n
  from (select session, count(*) as n from fresh group by session) a
  where s.space_id = at_space and s.session_id = a.session;
end $$;
comment on function muniment.number_turns(uuid, timestamptz) is 'Gives positions to the turns of a space that have none.';
