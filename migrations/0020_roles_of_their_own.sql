-- What crosses spaces has a role of its own, which sees nothing once a space is entered: whatever role a transaction changes to, it
-- sees no row more than in the space that it has entered. The engine logs in as a role that owns nothing and is a member of these.
do $$
begin
  if not exists (select from pg_roles where rolname = 'muniment_worker') then
    create role muniment_worker nologin nosuperuser nobypassrls nocreatedb nocreaterole;
  end if;
exception when duplicate_object or unique_violation then
  null;  -- another database of this cluster made it at the same moment
end $$;
do $$
begin
  execute format('grant muniment_worker to %I', current_user);
end $$;

-- A login that may not migrate reads which migrations there are.
grant select on public.schema_migrations to public;

alter policy spaces_keeper on muniment.spaces using ((select muniment.my_spaces()) is null);
alter policy memories_keeper on muniment.memories using ((select muniment.my_spaces()) is null);
alter policy memory_versions_keeper on muniment.memory_versions using ((select muniment.my_spaces()) is null);
alter policy extractions_keeper on muniment.extractions using ((select muniment.my_spaces()) is null);
alter policy tenant_embedders_keeper on muniment.tenant_embedders
  using ((select muniment.my_spaces()) is null) with check ((select muniment.my_spaces()) is null);

-- The queue: the application sees, adds and removes the jobs of the space that it has entered; a worker takes those of all.
alter table jobs.queue enable row level security;
alter table jobs.workers enable row level security;
alter table jobs.slots enable row level security;
grant usage on schema jobs to muniment_worker;
grant select, insert, update, delete on jobs.queue, jobs.workers, jobs.slots to muniment_worker;
revoke all on jobs.workers, jobs.slots from muniment_app;
revoke update on jobs.queue from muniment_app;
grant usage on schema muniment to muniment_worker;
create policy queue_own on jobs.queue to muniment_app
  using (split_part(dedup_key, ':', 1) = any((select muniment.my_spaces())::text[]) and (select muniment.all_categories()))
  with check (split_part(dedup_key, ':', 1) = any((select muniment.my_spaces())::text[]) and (select muniment.all_categories()));
comment on policy queue_own on jobs.queue is 'The application enters one space at a time and works with its jobs.';
do $$
declare name text;
begin
  foreach name in array array['queue', 'workers', 'slots'] loop
    execute format('create policy %I on jobs.%I to muniment_worker
      using ((select muniment.my_spaces()) is null) with check ((select muniment.my_spaces()) is null)', name || '_worker', name);
    execute format('comment on policy %I on jobs.%I is %L', name || '_worker', name, 'A worker takes the jobs of all spaces, and enters none.');
  end loop;
end $$;

-- What a process of the former version enqueues, perhaps without a space, goes on to the new table as long as its tables are there.
do $$
begin
  if to_regprocedure('jobs.hand_over()') is not null then
    alter function jobs.hand_over() security definer;
  end if;
end $$;

-- The embedders: the application reads them, and may lock them while it writes vectors; the keeper writes them.
alter table muniment.embedders enable row level security;
alter table muniment.embedders force row level security;
revoke insert, update on muniment.embedders from muniment_app;
grant update (model) on muniment.embedders to muniment_app;
grant insert, update on muniment.embedders to muniment_keeper;
create policy embedders_read on muniment.embedders for select to muniment_app using (true);
create policy embedders_lock on muniment.embedders for update to muniment_app using (true) with check (false);
create policy embedders_keeper on muniment.embedders to muniment_keeper
  using ((select muniment.my_spaces()) is null) with check ((select muniment.my_spaces()) is null);
comment on policy embedders_read on muniment.embedders is 'The application reads which embedders there are.';
comment on policy embedders_lock on muniment.embedders is 'It locks them, which needs the right to update, and changes none.';
comment on policy embedders_keeper on muniment.embedders is 'The keeper reads and writes them in transactions that enter no space.';

-- Only the owner of a table may measure it.
create function muniment.analyze_memories() returns void language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
begin
  if (select reltuples < 0 from pg_class where oid = 'muniment.memories'::regclass)
     and pg_relation_size('muniment.memories') > 500000 then
    analyze muniment.memories (space_id, memory_id, state, category);
  end if;
end $$;
comment on function muniment.analyze_memories() is 'Measures the table of memories once, before autovacuum does.';
revoke execute on function muniment.analyze_memories() from public;
grant execute on function muniment.analyze_memories() to muniment_app;
