-- Observations: what the rules or a model found in the turns of a session, and what came of each. A row is written in the statement of the
-- plan that it belongs to, so it is there exactly when the memory is.
create table muniment.observations (
  space_id uuid not null,
  observation_id uuid not null,
  session_id text,
  kind text not null,
  stable_key text not null,
  statement text not null,
  fact jsonb,
  category text not null,
  confidence real not null,
  importance smallint not null,
  trust text not null,
  turns uuid[] not null,
  found_by text not null,
  memory_id uuid,
  outcome text not null,
  rev bigint not null,
  at timestamptz not null,
  constraint observations_pk primary key (space_id, observation_id),
  constraint observations_space_fk foreign key (space_id) references muniment.spaces (space_id),
  constraint observations_session_fk foreign key (space_id, session_id) references muniment.sessions (space_id, session_id) on delete cascade,
  constraint observations_kind check (kind in (
    'user_fact', 'decision', 'discovery', 'rule', 'constraint', 'fix', 'todo', 'skill_proposal_candidate'))
);
create index observations_of_session on muniment.observations (space_id, session_id);
create index observations_of_memory on muniment.observations (space_id, memory_id) where memory_id is not null;
comment on table muniment.observations is
  'A row is one statement that the rules or a model found in the turns of a session, with what came of it. Written by commit_plan alone, but '
  'for erasures.';
comment on column muniment.observations.space_id is 'The space.';
comment on column muniment.observations.observation_id is 'Derived from the session and the stable key: found again, it is the same row.';
comment on column muniment.observations.session_id is 'The session of its turns, with which it goes; null: they are of none.';
comment on column muniment.observations.kind is 'What sort of statement it is.';
comment on column muniment.observations.stable_key is 'What is said, in a form that is the same in every session and whoever finds it.';
comment on column muniment.observations.statement is 'The statement, self-contained.';
comment on column muniment.observations.fact is 'Its structure; null without one.';
comment on column muniment.observations.category is 'Its category; who may read the category may read the row.';
comment on column muniment.observations.confidence is 'How certain it is, in [0, 1].';
comment on column muniment.observations.importance is 'From 1 to 5.';
comment on column muniment.observations.trust is 'How far the words that say it are trusted.';
comment on column muniment.observations.turns is 'The turns that say it: the ledger has their positions in the session.';
comment on column muniment.observations.found_by is 'Who found it first: rules, or the version of the prompt.';
comment on column muniment.observations.memory_id is 'The memory that came of it, or that says it already; null: none.';
comment on column muniment.observations.outcome is 'What came of it: added, updated, merged, known, waiting, or the reason why nothing.';
comment on column muniment.observations.rev is 'The revision of the space that it was written with.';
comment on column muniment.observations.at is 'When it was written.';

alter table muniment.observations enable row level security;
alter table muniment.observations force row level security;
create policy observations_own on muniment.observations to muniment_app
  using (space_id = any((select muniment.my_spaces())::uuid[])
    and ((select muniment.all_categories()) or category = any((select muniment.my_categories())::text[])))
  with check (space_id = any((select muniment.my_spaces())::uuid[]) and (select muniment.all_categories()));
comment on policy observations_own on muniment.observations is
  'The application reads the rows of the space it has entered that are in its allowed categories, and writes them when it entered without '
  'an allowlist.';
create policy observations_eraser on muniment.observations to muniment_eraser
  using (space_id = any((select muniment.my_spaces())::uuid[]) and (select muniment.all_categories()))
  with check (space_id = any((select muniment.my_spaces())::uuid[]) and (select muniment.all_categories()));
comment on policy observations_eraser on muniment.observations is
  'The eraser sees, removes and changes rows of the space it has entered, as far as its grants go.';
do $$
declare verb text;
begin
  foreach verb in array array['insert', 'update', 'delete'] loop
    execute format('create policy %I on muniment.observations as restrictive for %s to muniment_app %s ((select muniment.all_categories()))',
      'observations_no_' || verb, verb, case verb when 'insert' then 'with check' else 'using' end);
    execute format('comment on policy %I on muniment.observations is %L', 'observations_no_' || verb,
      'Who has an allowlist of categories changes nothing.');
  end loop;
end $$;
grant select, insert, update on muniment.observations to muniment_app;
grant select, delete on muniment.observations to muniment_eraser;

-- A row is a statement, as a cluster plans them. The writer has the row of the space, so nobody else writes observations of it.
create function muniment.keep_observations(at_space uuid, observed jsonb, at_rev bigint) returns void language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
#variable_conflict use_column
declare
  o muniment.observations;
  known muniment.observations;
begin
  for o in select * from jsonb_populate_recordset(null::muniment.observations, observed) loop
    select min(s.session_id) into o.session_id
    from muniment.turns t join muniment.sessions s on s.space_id = at_space and s.session_id = t.session_id
    where t.space_id = at_space and t.turn_id = any(o.turns);
    o.observation_id := left(encode(sha256(convert_to(coalesce(o.session_id, '') || chr(31) || o.stable_key, 'UTF8')), 'hex'), 32)::uuid;
    select * into known from muniment.observations k where k.space_id = at_space and k.observation_id = o.observation_id;
    if known.observation_id is null then
      insert into muniment.observations (space_id, observation_id, session_id, kind, stable_key, statement, fact, category, confidence,
        importance, trust, turns, found_by, memory_id, outcome, rev, at)
      values (at_space, o.observation_id, o.session_id, o.kind, o.stable_key, o.statement, o.fact, o.category, o.confidence,
        o.importance, o.trust, o.turns, o.found_by, o.memory_id, o.outcome, at_rev, o.at);
      continue;
    end if;
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
comment on function muniment.keep_observations(uuid, jsonb, bigint) is
  'Writes observations, each once a session: one that is found again gets the new turns, and a memory where it had none.';

-- The ledger is out of sight of who has an allowlist of categories. This tells numbers alone.
create function muniment.list_positions(at_space uuid, said uuid[]) returns int[] language plpgsql stable set app.categories = '*' as $$
begin
  return array(
    select t.position from muniment.turns t
    where t.space_id = at_space and t.turn_id = any(said) and t.position is not null order by t.position);
end $$;
comment on function muniment.list_positions(uuid, uuid[]) is 'The positions of turns in their sessions, in order.';

-- What `commit_plan` was is its first part.
alter function muniment.commit_plan(uuid, jsonb, bigint, int, jsonb, halfvec[], sparsevec[], jsonb, boolean, jsonb, jsonb, jsonb)
  rename to commit_memories;
comment on function muniment.commit_memories(uuid, jsonb, bigint, int, jsonb, halfvec[], sparsevec[], jsonb, boolean, jsonb, jsonb, jsonb) is
  'The part of commit_plan that writes memories, turns, the record of an extraction and edges.';
create function muniment.commit_plan(
  at_space uuid, founding jsonb, expected bigint, changes int, memories jsonb, embeddings halfvec[],
  weights sparsevec[], lines jsonb, fresh boolean, consumed jsonb, extracted jsonb, edges jsonb, observed jsonb default null
) returns void language plpgsql as $$
begin
  perform muniment.commit_memories(at_space, founding, expected, changes, memories, embeddings, weights, lines, fresh, consumed,
    extracted, edges);
  if observed is not null then
    perform muniment.keep_observations(at_space, observed, expected + changes);
  end if;
end $$;
comment on function muniment.commit_plan(
  uuid, jsonb, bigint, int, jsonb, halfvec[], sparsevec[], jsonb, boolean, jsonb, jsonb, jsonb, jsonb) is
  'Writes a whole plan in one statement. Raises 40001 when the space is not at revision `expected` or what was looked at is erased, and '
  'MU001 when the plan was written before.';
