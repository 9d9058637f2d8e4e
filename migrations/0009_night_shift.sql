-- What happens to a space while nobody looks: it is tended - consolidated, what is old forgotten - when it has changed since
-- `tended_rev`, or when `tend_at` has come: the earliest time at which something in it is due whoever speaks or not.
alter table muniment.spaces add column tended_rev bigint not null default 0, add column tended_at timestamptz,
  add column tend_at timestamptz;

-- One run of a consolidation over one space, and what it came to. A run that has not ended is its space's only one; it is given
-- up when its lease is over, for then its process is gone. `waiting`: its questions are with a provider's batch endpoint.
-- `surveyed_rev`: what changed up to there has been compared, and nothing of that is left to check; `upto_rev`: where that will be
-- when the run has checked all its pairs.
create table muniment.consolidation_runs (
  space_id uuid not null,
  run_id uuid not null,
  status text not null,
  started_at timestamptz not null,
  ended_at timestamptz,
  leased_until timestamptz not null,
  from_rev bigint not null,
  to_rev bigint,
  surveyed_rev bigint not null default 0,
  upto_rev bigint not null default 0,
  model text,
  prompt text,
  seen int not null default 0,
  checked int not null default 0,
  same int not null default 0,
  superseded int not null default 0,
  distinct_pairs int not null default 0,
  outdated int not null default 0,
  unanswered int not null default 0,
  requests int not null default 0,
  input_tokens bigint not null default 0,
  output_tokens bigint not null default 0,
  micros bigint not null default 0,
  duplicates_before int,
  duplicates_after int,
  batch text,
  asked jsonb,
  reason text,
  constraint consolidation_runs_pk primary key (space_id, run_id),
  constraint consolidation_runs_space_fk foreign key (space_id) references muniment.spaces (space_id),
  constraint consolidation_runs_status check (status in
    ('running', 'waiting', 'done', 'over_budget', 'failed', 'interrupted', 'undone'))
);
create unique index consolidation_runs_one on muniment.consolidation_runs (space_id) where ended_at is null;
create index consolidation_runs_by_time on muniment.consolidation_runs (space_id, started_at desc);

-- A pair of memories that was looked at: `score` is its cosine in hundredths, so that a pair which has come nearer, or gone
-- apart, is another question.
create table muniment.pair_fingerprints (
  space_id uuid not null,
  low_id uuid not null,
  high_id uuid not null,
  score smallint not null,
  judgement text not null,
  source text not null,
  run_id uuid not null,
  checked_at timestamptz not null,
  constraint pair_fingerprints_pk primary key (space_id, low_id, high_id, score),
  constraint pair_fingerprints_space_fk foreign key (space_id) references muniment.spaces (space_id),
  constraint pair_fingerprints_order check (low_id < high_id),
  constraint pair_fingerprints_judgement check (judgement in ('same', 'supersedes', 'different')),
  constraint pair_fingerprints_source check (source in ('rules', 'model'))
);

-- What was erased for good, and when: numbers, never a word of it. It outlives its space.
create table muniment.erasures (
  space_id uuid not null,
  erasure_id uuid not null,
  what text not null,
  counts jsonb not null,
  at timestamptz not null,
  constraint erasures_pk primary key (space_id, erasure_id),
  constraint erasures_what check (what in ('memory', 'user', 'purge'))
);

-- Who removes for good: a role of its own, so that no other statement of the application can, and inside one space like it.
do $$
begin
  if not exists (select from pg_roles where rolname = 'muniment_eraser') then
    create role muniment_eraser nologin nosuperuser nobypassrls nocreatedb nocreaterole;
  end if;
exception when duplicate_object or unique_violation then
  null;  -- another database of this cluster made it at the same moment
end $$;
do $$
begin
  execute format('grant muniment_eraser to %I', current_user);
end $$;
grant usage on schema muniment to muniment_eraser;

do $$
declare name text;
begin
  foreach name in array array['consolidation_runs', 'pair_fingerprints', 'erasures'] loop
    execute format('alter table muniment.%I enable row level security', name);
    execute format('alter table muniment.%I force row level security', name);
    execute format($policy$create policy %I on muniment.%I to muniment_app
      using (space_id = any((select muniment.my_spaces())::uuid[]) and (select muniment.all_categories()))
      with check (space_id = any((select muniment.my_spaces())::uuid[]) and (select muniment.all_categories()))$policy$,
      name || '_own', name);
  end loop;
  foreach name in array array['spaces', 'memories', 'memory_versions', 'journal', 'relations', 'thread_revision', 'turns',
      'extractions', 'events', 'consent_requests', 'postings', 'swept', 'consolidation_runs', 'pair_fingerprints', 'erasures'] loop
    execute format($policy$create policy %I on muniment.%I to muniment_eraser
      using (space_id = any((select muniment.my_spaces())::uuid[]) and (select muniment.all_categories()))
      with check (space_id = any((select muniment.my_spaces())::uuid[]) and (select muniment.all_categories()))$policy$,
      name || '_eraser', name);
    execute format('grant select, delete on muniment.%I to muniment_eraser', name);
  end loop;
end $$;
grant select, insert, update on muniment.consolidation_runs, muniment.pair_fingerprints to muniment_app;
grant select, insert on muniment.erasures to muniment_app;
grant insert on muniment.erasures, muniment.journal to muniment_eraser;
grant update on muniment.spaces to muniment_eraser;
grant update (meta, thread_id, actor) on muniment.journal to muniment_eraser;
grant update (turns, superseded_by, context, words) on muniment.memories, muniment.memory_versions to muniment_eraser;
grant update (df, memories, weights) on muniment.postings to muniment_eraser;
grant update (recalled) on muniment.turns to muniment_eraser;
grant update (repaired, refused) on muniment.extractions to muniment_eraser;
grant update (turns, old) on muniment.consent_requests to muniment_eraser;

-- As before, and: a model was asked for a while, and what it was shown may have been erased meanwhile. What it found in that
-- is not written: not in a turn that is gone, and not in a space from which something was erased after revision `since`.
create or replace function muniment.commit_plan(
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
    if extracted ->> 'prompt' like 'extract-%' and not exists (
        select from muniment.turns t where t.space_id = at_space and t.turn_id = (extracted ->> 'turn_id')::uuid)
      or (extracted ->> 'since')::bigint > expected or exists (
        select from muniment.journal j
        where j.space_id = at_space and j.rev > (extracted ->> 'since')::bigint and j.meta ? 'hard') then
      perform muniment.refuse('40001', 'what was looked at has been erased');
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

-- The queue is older than this file where the database is: what waits for its hour must not be walked past to find what is due.
do $$
begin
  if to_regclass('jobs.procrastinate_jobs') is not null then
    drop index if exists jobs.muniment_jobs_by_lock;
    create index if not exists muniment_jobs_in_order on jobs.procrastinate_jobs (lock, priority desc, id)
      where status = 'todo' and queue_name = 'extract';
    create index if not exists muniment_jobs_by_time
      on jobs.procrastinate_jobs (queue_name, (coalesce(scheduled_at, '-infinity'::timestamptz)))
      where status = 'todo' and queue_name <> 'extract';
  end if;
end $$;
