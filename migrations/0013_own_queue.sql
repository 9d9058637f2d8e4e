-- The queue of background jobs, as tables of its own. It was kept in those of Procrastinate, which were made beside the migrations:
-- a database that has them hands over what waits or runs; a new database has never had them. They stay, empty and unused, for one
-- release, so that a process of the former version that is still running loses nothing.
create schema if not exists jobs;
grant usage on schema jobs to muniment_app;

create table jobs.workers (
  id bigint generated always as identity,
  last_heartbeat timestamptz not null default now(),
  constraint workers_pk primary key (id)
);

create table jobs.queue (
  id bigint generated always as identity,
  name text not null,
  priority int not null default 0,
  lock text not null,
  dedup_key text not null,
  args jsonb not null,
  status text not null default 'todo',
  scheduled_at timestamptz,
  attempts int not null default 0,
  worker_id bigint,
  constraint queue_pk primary key (id),
  constraint queue_status check (status in ('todo', 'doing')),
  constraint queue_worker foreign key (worker_id) references jobs.workers (id) on delete set null
);

create table jobs.slots (
  id bigint generated always as identity,
  name text not null,
  slot bigint not null,
  constraint slots_pk primary key (id),
  constraint slots_once unique (name, slot)
);

-- A job that waits already is not enqueued again.
create unique index queue_dedup_key on jobs.queue (dedup_key) where status = 'todo';
-- Of the jobs with the same lock one runs at a time.
create unique index queue_lock on jobs.queue (lock) where status = 'doing';
create index queue_worker_id on jobs.queue (worker_id) where status = 'doing';
create index queue_in_order on jobs.queue (lock, priority desc, id) where status = 'todo' and name = 'extract';
create index queue_by_time on jobs.queue (name, (coalesce(scheduled_at, '-infinity'::timestamptz)))
  where status = 'todo' and name <> 'extract';

create function jobs.notify_workers() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  perform pg_notify('muniment_jobs#' || name, '') from (select distinct name from added where status = 'todo') new;
  return null;
end $$;

create trigger queue_notify after insert on jobs.queue referencing new table as added
  for each statement execute function jobs.notify_workers();

grant select, insert, update, delete on jobs.queue, jobs.workers, jobs.slots to muniment_app;

do $$
begin
  if to_regclass('jobs.procrastinate_jobs') is null then
    return;
  end if;
  -- Whoever enqueues or takes a job at this moment is waited for, and everybody who comes later waits.
  lock table jobs.procrastinate_workers, jobs.procrastinate_jobs, jobs.procrastinate_periodic_defers;

  -- A running job stays with its worker: the worker gives no sign in the new table, and after jobs.stalled_seconds the job is tried
  -- again like that of any worker that died.
  insert into jobs.workers (id, last_heartbeat) overriding system value
  select id, last_heartbeat from jobs.procrastinate_workers;
  insert into jobs.queue (id, name, priority, lock, dedup_key, args, status, scheduled_at, attempts, worker_id)
  overriding system value
  select id, task_name, priority, coalesce(lock, queueing_lock, id::text), coalesce(queueing_lock, id::text), args,
    status::text, scheduled_at, attempts, worker_id
  from jobs.procrastinate_jobs where status in ('todo', 'doing');
  insert into jobs.slots (id, name, slot) overriding system value
  select id, task_name, defer_timestamp from jobs.procrastinate_periodic_defers where defer_timestamp is not null;
  perform setval(pg_get_serial_sequence('jobs.workers', 'id'), max(id)) from jobs.workers having count(*) > 0;
  perform setval(pg_get_serial_sequence('jobs.queue', 'id'), max(id)) from jobs.queue having count(*) > 0;
  perform setval(pg_get_serial_sequence('jobs.slots', 'id'), max(id)) from jobs.slots having count(*) > 0;
  delete from jobs.procrastinate_periodic_defers;
  delete from jobs.procrastinate_jobs;
  delete from jobs.procrastinate_workers;

  -- A process of the former version that is still running enqueues there: it goes on to the new table.
  create function jobs.hand_over() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $f$
  begin
    insert into jobs.queue (name, priority, lock, dedup_key, args, scheduled_at)
    values (new.task_name, new.priority, new.lock, new.queueing_lock, new.args, new.scheduled_at)
    on conflict (dedup_key) where status = 'todo' do nothing;
    return null;
  end $f$;
  create trigger hand_over before insert on jobs.procrastinate_jobs for each row execute function jobs.hand_over();
end $$;
