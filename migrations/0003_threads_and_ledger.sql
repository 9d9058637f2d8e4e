-- What each thread has been shown, what was said, and what the nodes did.
create table muniment.thread_revision (
  space_id uuid not null,
  thread_id text not null,
  rev bigint not null,
  constraint thread_revision_pk primary key (space_id, thread_id),
  constraint thread_revision_space_fk foreign key (space_id) references muniment.spaces (space_id)
);

create table muniment.turns (
  space_id uuid not null,
  turn_id uuid not null,
  session_id text,
  thread_id text,
  role text not null,
  actor text,
  text text not null,
  at timestamptz not null,
  consumed_rev bigint,
  constraint turns_pk primary key (space_id, turn_id),
  constraint turns_space_fk foreign key (space_id) references muniment.spaces (space_id)
);
create index turns_by_thread on muniment.turns (space_id, thread_id, at);

create table muniment.events (
  space_id uuid not null,
  event_id uuid not null,
  user_id text not null,
  thread_id text,
  node text not null,
  op text not null,
  status text not null,
  memory_id uuid,
  category text,
  sim real,
  ts timestamptz not null,
  constraint events_pk primary key (space_id, event_id),
  constraint events_space_fk foreign key (space_id) references muniment.spaces (space_id),
  constraint events_node check (node in ('hotpath', 'context', 'episodic', 'worker', 'face')),
  constraint events_op check (op in ('classify', 'search', 'create', 'update', 'merge', 'delete', 'link', 'ttl')),
  constraint events_status check (status in ('ok', 'error', 'skipped'))
);
create index events_by_time on muniment.events (space_id, ts desc);
create index events_by_node on muniment.events (space_id, node, ts desc);

do $$
declare t text;
begin
  foreach t in array array['thread_revision', 'turns', 'events'] loop
    execute format('alter table muniment.%I enable row level security', t);
    execute format('alter table muniment.%I force row level security', t);
    execute format('create policy %I on muniment.%I to muniment_app
      using (space_id = any((select muniment.my_spaces())::uuid[]) and (select muniment.all_categories()))
      with check (space_id = any((select muniment.my_spaces())::uuid[]) and (select muniment.all_categories()))',
      t || '_own', t);
  end loop;
end $$;
-- A reader with an allowlist may know how far its thread has looked, and nothing else of these.
create policy thread_revision_read on muniment.thread_revision for select to muniment_app
  using (space_id = any((select muniment.my_spaces())::uuid[]));

grant select, insert, update on muniment.thread_revision, muniment.turns to muniment_app;
grant select, insert on muniment.events to muniment_app;
