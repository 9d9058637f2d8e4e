-- Memories, their former versions, the journal of every change, and the edges between memories.
create table muniment.memories (
  space_id uuid not null,
  memory_id uuid not null,
  kind text not null,
  category text not null,
  text text not null,
  fact jsonb,
  stable_key text,
  importance smallint not null,
  confidence real not null,
  trust text not null,
  pinned boolean not null,
  state text not null,
  tags text[] not null,
  agent_id text,
  run_id text,
  actor_id text,
  role text,
  session_id text,
  thread_id text,
  event_time timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  last_accessed_at timestamptz,
  access_count int not null,
  purge_at timestamptz,
  rev bigint not null,
  superseded_by uuid,
  context text,
  turns uuid[] not null,
  embedding halfvec not null,
  embedding_model text not null,
  words sparsevec not null,
  constraint memories_pk primary key (space_id, memory_id),
  constraint memories_space_fk foreign key (space_id) references muniment.spaces (space_id),
  constraint memories_kind check (kind in ('semantic', 'episodic', 'procedural', 'insight')),
  constraint memories_trust check (trust in ('user', 'tool', 'document', 'agent')),
  constraint memories_state check (state in ('active', 'pending', 'superseded', 'soft_deleted', 'rejected')),
  constraint memories_importance check (importance between 1 and 5)
);
-- A row of more than 2 kB loses its longest values to TOAST. A search reads both vectors of every row: they stay.
alter table muniment.memories alter column embedding set storage main, alter column words set storage main;
create index memories_by_category on muniment.memories (space_id, state, category);
create unique index memories_by_key on muniment.memories (space_id, stable_key)
  where stable_key is not null and state = 'active';

create table muniment.memory_versions (
  space_id uuid not null,
  memory_id uuid not null,
  from_rev bigint not null,
  to_rev bigint not null,
  kind text not null,
  category text not null,
  text text not null,
  fact jsonb,
  stable_key text,
  importance smallint not null,
  confidence real not null,
  trust text not null,
  pinned boolean not null,
  state text not null,
  tags text[] not null,
  agent_id text,
  run_id text,
  actor_id text,
  role text,
  session_id text,
  thread_id text,
  event_time timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  purge_at timestamptz,
  superseded_by uuid,
  context text,
  turns uuid[] not null,
  embedding halfvec not null,
  embedding_model text not null,
  words sparsevec not null,
  constraint memory_versions_pk primary key (space_id, memory_id, from_rev),
  constraint memory_versions_space_fk foreign key (space_id) references muniment.spaces (space_id),
  constraint memory_versions_range check (from_rev < to_rev)
);

create table muniment.journal (
  space_id uuid not null,
  rev bigint not null,
  memory_id uuid not null,
  action text not null,
  old_ref text,
  new_ref text,
  thread_id text,
  node text not null,
  actor text,
  band text,
  sim real,
  meta jsonb not null,
  ts timestamptz not null,
  constraint journal_pk primary key (space_id, rev),
  constraint journal_space_fk foreign key (space_id) references muniment.spaces (space_id),
  constraint journal_action check (action in ('ADD', 'UPDATE', 'DELETE', 'MERGE', 'LINK', 'TTL', 'RESTORE'))
);
create index journal_by_memory on muniment.journal (space_id, memory_id, rev desc);

create table muniment.relations (
  space_id uuid not null,
  from_id uuid not null,
  to_id uuid not null,
  relation_type text not null,
  strength real not null,
  created_at timestamptz not null,
  constraint relations_pk primary key (space_id, from_id, to_id),
  constraint relations_from_fk foreign key (space_id, from_id) references muniment.memories (space_id, memory_id) on delete cascade,
  constraint relations_to_fk foreign key (space_id, to_id) references muniment.memories (space_id, memory_id) on delete cascade,
  constraint relations_order check (from_id < to_id),
  constraint relations_strength check (strength between 0 and 1)
);
create index relations_by_to on muniment.relations (space_id, to_id);

do $$
declare t text;
begin
  foreach t in array array['memories', 'memory_versions', 'journal', 'relations'] loop
    execute format('alter table muniment.%I enable row level security', t);
    execute format('alter table muniment.%I force row level security', t);
  end loop;
  foreach t in array array['memories', 'memory_versions'] loop
    execute format('create policy %I on muniment.%I to muniment_app
      using (space_id = any((select muniment.my_spaces())::uuid[])
             and ((select muniment.all_categories()) or category = any((select muniment.my_categories())::text[])))
      with check (space_id = any((select muniment.my_spaces())::uuid[]) and (select muniment.all_categories()))',
      t || '_own', t);
  end loop;
  foreach t in array array['journal', 'relations'] loop
    execute format('create policy %I on muniment.%I to muniment_app
      using (space_id = any((select muniment.my_spaces())::uuid[]))
      with check (space_id = any((select muniment.my_spaces())::uuid[]) and (select muniment.all_categories()))',
      t || '_own', t);
  end loop;
end $$;

grant select, insert, update, delete on muniment.memories, muniment.relations to muniment_app;
grant select, insert on muniment.memory_versions, muniment.journal to muniment_app;
grant update (embedding, embedding_model) on muniment.memory_versions to muniment_app;

-- One fact, written once: history and change_log are the journal under other names.
create view muniment.history with (security_invoker = true) as
select space_id, rev, memory_id, action as event, old_ref, new_ref, actor, meta, ts from muniment.journal;

create view muniment.change_log with (security_invoker = true) as
select space_id, thread_id, rev, memory_id,
       case action when 'ADD' then 'created' when 'UPDATE' then 'updated' when 'MERGE' then 'merged'
                   when 'RESTORE' then 'restored' when 'TTL' then 'soft_deleted'
                   when 'DELETE' then case when meta ? 'hard' then 'deleted' else 'soft_deleted' end end as event,
       meta, ts
from muniment.journal where action <> 'LINK';

grant select on muniment.history, muniment.change_log to muniment_app;
