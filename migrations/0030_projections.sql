-- Projections: memories seen from what they are about. A slot is a type and a key, such as the profile's home; a row is what one memory
-- says of it, and at most one row of a slot is active. Each row is a function of the memories of its slot, so that a space which is
-- projected anew has the same rows.
create table muniment.projections (
  space_id uuid not null,
  projection_id uuid not null,
  type text not null,
  key text not null,
  memory_id uuid not null,
  status text not null,
  title text not null,
  data jsonb not null,
  category text not null,
  trust text not null,
  memories uuid[] not null,
  rev bigint not null,
  superseded_by uuid,
  at timestamptz not null,
  constraint projections_pk primary key (space_id, projection_id),
  constraint projections_space_fk foreign key (space_id) references muniment.spaces (space_id),
  constraint projections_status check (
    status in ('active', 'support', 'conflict', 'outranked', 'pending', 'rejected', 'superseded'))
);
create unique index projections_active on muniment.projections (space_id, type, key) where status = 'active';
create index projections_by_slot on muniment.projections (space_id, type, key);
create index projections_by_memory on muniment.projections (space_id, memory_id);
create index projections_beside on muniment.projections (space_id, memory_id)
where type = 'user_profile' and status in ('support', 'outranked');
comment on table muniment.projections is
  'A row is what one memory says in one slot, such as the home in the profile. At most one row of a slot is active.';
comment on column muniment.projections.projection_id is 'Derived from the memory, the type and the key.';
comment on column muniment.projections.type is 'What the slot is part of, such as user_profile or episode.';
comment on column muniment.projections.key is 'What the slot is about.';
comment on column muniment.projections.memory_id is 'The memory that says it.';
comment on column muniment.projections.status is
  'Of an active memory: active, or beside the active one support (it says the same), conflict (it says something else, and is trusted as much) or outranked (it is trusted less). Else the state of the memory.';
comment on column muniment.projections.title is 'What it says, in one line.';
comment on column muniment.projections.data is 'What it says, by the rule of its type.';
comment on column muniment.projections.category is 'The category of the memory.';
comment on column muniment.projections.trust is 'How far the memory is trusted.';
comment on column muniment.projections.memories is 'Of the active row the active memories of the slot, the one that it is of first; of another row its own.';
comment on column muniment.projections.rev is 'The revision of the memory.';
comment on column muniment.projections.superseded_by is 'The memory that took its place; null: none did.';
comment on column muniment.projections.at is 'When the memory changed last.';

alter table muniment.projections enable row level security;
alter table muniment.projections force row level security;
create policy projections_own on muniment.projections to muniment_app
  using (space_id = any((select muniment.my_spaces())::uuid[])
    and ((select muniment.all_categories()) or category = any((select muniment.my_categories())::text[])))
  with check (space_id = any((select muniment.my_spaces())::uuid[]) and (select muniment.all_categories()));
comment on policy projections_own on muniment.projections is
  'The application reads rows of the space it has entered, of the categories that it has entered with, and writes them with all categories.';
create policy projections_eraser on muniment.projections to muniment_eraser
  using (space_id = any((select muniment.my_spaces())::uuid[]) and (select muniment.all_categories()))
  with check (space_id = any((select muniment.my_spaces())::uuid[]) and (select muniment.all_categories()));
comment on policy projections_eraser on muniment.projections is
  'The eraser sees, removes and changes rows of the space it has entered, as far as its grants go.';
do $$
declare verb text;
begin
  foreach verb in array array['insert', 'update', 'delete'] loop
    execute format('create policy %I on muniment.projections as restrictive for %s to muniment_app %s ((select muniment.all_categories()))',
      'projections_no_' || verb, verb, case verb when 'insert' then 'with check' else 'using' end);
    execute format('comment on policy %I on muniment.projections is %L', 'projections_no_' || verb,
      'Who has an allowlist of categories changes nothing.');
  end loop;
end $$;
grant select, insert, update, delete on muniment.projections to muniment_app;
grant select, delete on muniment.projections to muniment_eraser;
grant update (status, memories, superseded_by) on muniment.projections to muniment_eraser;

alter table muniment.spaces add column projected_rev bigint not null default 0;
comment on column muniment.spaces.projected_rev is
  'The revision up to which its projections are kept. Less than its own: a process that knows none has changed it, and they are made anew.';

-- Of the rows of whole slots, which are what.
create function muniment.rank_projections(given muniment.projections[]) returns setof muniment.projections
language plpgsql immutable as $$
#variable_conflict use_column
begin
  return query
  select p.space_id, p.projection_id, p.type, p.key, p.memory_id,
    case when not p.is_live then p.status when p.place = 1 then 'active' when p.data = p.best_data then 'support'
      when p.trust = p.best_trust then 'conflict' else 'outranked' end,
    p.title, p.data, p.category, p.trust,
    case when p.is_live and p.place = 1 then p.live else array[p.memory_id] end, p.rev,
    case when not p.is_live then p.superseded_by when p.place > 1 then p.live[1] end, p.at
  from (
    select s.*, row_number() over ranked as place, first_value(s.data) over ranked as best_data,
      first_value(s.trust) over ranked as best_trust, array_agg(s.memory_id) over ranked as live
    from (select g.*, g.status in ('active', 'support', 'conflict', 'outranked') as is_live from unnest(given) g) s
    window ranked as (
      partition by s.type, s.key, s.is_live
      order by array_position('{user,tool,document,agent}'::text[], s.trust), s.at desc, s.rev desc, s.memory_id
      rows between unbounded preceding and unbounded following)
  ) p;
end $$;
comment on function muniment.rank_projections(muniment.projections[]) is
  'What the rows of whole slots are beside each other: of those of active memories the most trusted one is active, and of several the latest.';

-- A memory without slots is left alone: the process that wrote it knows none.
create function muniment.project_changes(at_space uuid, memories jsonb) returns setof uuid language plpgsql as $$
#variable_conflict use_column
declare
  given uuid[] := array(select (one ->> 'memory_id')::uuid from jsonb_array_elements(memories) one where one ? 'slots');
  made muniment.projections[] := array(
    select s from jsonb_array_elements(memories) one
    cross join lateral jsonb_populate_recordset(null::muniment.projections, one -> 'slots') s);
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
  where p.space_id = at_space and p.memory_id = any(given)
    and p.projection_id <> all(array(select m.projection_id from unnest(made) m))
  returning p.projection_id;
  beside := array(
    select p from unnest(types, keys) s (type, key) join muniment.projections p
      on p.space_id = at_space and p.type = s.type and p.key = s.key
    where p.memory_id <> all(given));
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
comment on function muniment.project_changes(uuid, jsonb) is
  'Writes what changed memories say in their slots, and what the other rows of these slots are beside it. Returns the ids of rows that went.';

-- A plan keeps the sessions of its turns, and projects what it changes, in the same transaction. The projections of a space that a process changes which knows none fall behind.
create or replace function muniment.commit_memories(
  at_space uuid, founding jsonb, expected bigint, changes int, memories jsonb, embeddings halfvec[],
  weights sparsevec[], lines jsonb, fresh boolean, consumed jsonb, extracted jsonb, edges jsonb
) returns void language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
#variable_conflict use_column
begin
  perform muniment.enter_space(at_space);
  if founding is not null then
    insert into muniment.spaces (space_id, tenant_id, owner_id, owner_type, rev, created_at)
    select at_space, s.tenant_id, s.owner_id, s.owner_type, 0, s.created_at
    from jsonb_populate_record(null::muniment.spaces, founding) s
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
    insert into muniment.turns (space_id, turn_id, session_id, thread_id, role, actor, text, at, source, path, tags,
      recalled, consumed_rev, said_at, kind, payload, visible)
    select at_space, t.turn_id, muniment.session_of(t.session_id, t.thread_id), t.thread_id, t.role, t.actor, t.text,
      t.at, t.source, t.path, t.tags, t.recalled, expected + changes, statement_timestamp() - (
        coalesce(lines -> 0 ->> 'ts', extracted ->> 'at')::timestamptz - t.at),
      coalesce(t.kind, 'message'), t.payload, coalesce(t.visible, true)
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
  perform muniment.project_changes(at_space, memories);
  if edges is not null then
    insert into muniment.relations (space_id, from_id, to_id, relation_type, strength, created_at)
    select at_space, r.from_id, r.to_id, r.relation_type, r.strength, r.created_at
    from jsonb_populate_recordset(null::muniment.relations, edges) r
    on conflict (space_id, from_id, to_id) do update set strength = excluded.strength;
  end if;
end $$;
comment on function muniment.commit_memories(uuid, jsonb, bigint, int, jsonb, halfvec[], sparsevec[], jsonb, boolean, jsonb, jsonb, jsonb) is
  'The part of commit_plan that writes memories and their projections, turns, the record of an extraction and edges.';
