-- name: exists
-- Asks the catalog's rows: `to_regclass` goes by a cache that a waiting transaction does not renew.
select exists (
    select from pg_catalog.pg_tables where schemaname = 'jobs' and tablename = 'procrastinate_jobs'
) as made

-- name: begin
create schema if not exists jobs;
set local search_path = jobs

-- name: finish
-- The functions name no schema: each gets its own way to find the tables, so that any role can call them.
do $$
declare f regprocedure;
begin
  for f in select p.oid from pg_proc p join pg_namespace n on n.oid = p.pronamespace where n.nspname = 'jobs' loop
    execute format('alter function %s set search_path = jobs, pg_temp', f);
  end loop;
end $$;
-- The library notes each step of each job. Nobody reads it here, and a job that is tried for weeks would fill it.
alter table procrastinate_jobs disable trigger procrastinate_trigger_status_events_insert_v1,
  disable trigger procrastinate_trigger_status_events_update_v1, disable trigger procrastinate_trigger_scheduled_events_v1;
create index muniment_jobs_in_order on procrastinate_jobs (lock, priority desc, id)
  where status = 'todo' and queue_name = 'extract';
create index muniment_jobs_by_time on procrastinate_jobs (queue_name, (coalesce(scheduled_at, '-infinity'::timestamptz)))
  where status = 'todo' and queue_name <> 'extract';
grant usage on schema jobs to muniment_app;
grant select, insert, update, delete on all tables in schema jobs to muniment_app;
grant usage, select on all sequences in schema jobs to muniment_app

-- name: enqueue (a job that waits already, with the same name and key, is this one)
insert into jobs.procrastinate_jobs (queue_name, task_name, priority, lock, queueing_lock, args, scheduled_at)
values (%(name)s, %(name)s, %(priority)s, %(lock)s, %(once)s, %(args)s, %(at)s)
on conflict (queueing_lock) where status = 'todo' do nothing

-- name: enroll
select worker_id from jobs.procrastinate_register_worker_v1()

-- name: beat
update jobs.procrastinate_workers set last_heartbeat = now() where id = %(worker)s returning id

-- name: by_index (a queue's statistics are always old: without them the planner reads all of it and sorts)
select set_config(name, 'off', true) from unnest(array['enable_seqscan', 'enable_bitmapscan', 'enable_sort']) as name

-- name: take_in_order (turns. The library's own function looks at every job that waits, however many wait behind one another;
-- this looks at the first of each lock, from a random lock on, and stops at one that is due and whose lock nobody holds)
with recursive head as (
  ({{first}} and lock >= %(start)s and (%(end)s::text is null or lock < %(end)s) order by lock, priority desc, id limit 1)
  union all
  select next.* from head, lateral (
    {{first}} and lock > head.lock and (%(end)s::text is null or lock < %(end)s) order by lock, priority desc, id limit 1) next
)
update jobs.procrastinate_jobs set status = 'doing', worker_id = %(worker)s
where id = (
  select mine.id from head, lateral (
    select id from jobs.procrastinate_jobs where id = head.id and status = 'todo' for update skip locked) mine
  where 'extract' = any(%(names)s::varchar[]) and coalesce(head.scheduled_at <= now(), true)
    and (select 1 from jobs.procrastinate_jobs other where other.lock = head.lock and other.status = 'doing') is null
  limit 1)
returning id, task_name, args, attempts

-- name: first
select lock, id, scheduled_at from jobs.procrastinate_jobs where status = 'todo' and queue_name = 'extract'

-- name: take_by_time (the others have a lock each: the one that has waited longest. What waits for its hour costs nothing,
-- however much it is)
update jobs.procrastinate_jobs set status = 'doing', worker_id = %(worker)s
where id = (
  select mine.id from unnest(%(names)s::varchar[]) name cross join lateral (
    select id, coalesce(scheduled_at, '-infinity'::timestamptz) as due from jobs.procrastinate_jobs j
    where j.status = 'todo' and j.queue_name <> 'extract' and j.queue_name = name
      and coalesce(j.scheduled_at, '-infinity'::timestamptz) <= now()
      and (select 1 from jobs.procrastinate_jobs other where other.lock = j.lock and other.status = 'doing') is null
    order by coalesce(j.scheduled_at, '-infinity'::timestamptz) limit 1 for update skip locked) mine
  order by mine.due limit 1)
returning id, task_name, args, attempts

-- name: done (what another worker has taken over is that one's to end: it may be wanted anew by now)
delete from jobs.procrastinate_jobs mine where {{held}}

-- name: put_back (its twin, enqueued while it ran, does its work)
with twin as (
  delete from jobs.procrastinate_jobs mine where {{held}} and exists (
    select from jobs.procrastinate_jobs other where other.queueing_lock = mine.queueing_lock and other.status = 'todo')
  returning mine.id
)
update jobs.procrastinate_jobs mine set status = 'todo', worker_id = null, attempts = attempts + 1,
  scheduled_at = now() + %(wait)s::interval, priority = least(priority, %(priority)s)
where {{held}} and not exists (select from twin)

-- name: held
mine.id = %(id)s and mine.status = 'doing' and mine.worker_id = %(worker)s

-- name: leave
delete from jobs.procrastinate_workers where id = %(worker)s

-- name: dead
delete from jobs.procrastinate_workers where last_heartbeat < now() - make_interval(secs => %(seconds)s)

-- name: drop_twins (of the jobs that no worker holds any more)
delete from jobs.procrastinate_jobs mine where mine.status = 'doing' and mine.worker_id is null and exists (
  select from jobs.procrastinate_jobs other where other.queueing_lock = mine.queueing_lock and other.status = 'todo')

-- name: rescue (a job that takes its worker with it each time is tried ever more rarely)
update jobs.procrastinate_jobs set status = 'todo', attempts = attempts + 1,
  scheduled_at = now() + least(%(longest)s, power(2, least(attempts, 20)) - 1) * interval '1 second'
where status = 'doing' and worker_id is null

-- name: give_back (the jobs of a worker that stops)
update jobs.procrastinate_jobs set status = 'todo', worker_id = null, scheduled_at = now()
where status = 'doing' and worker_id = %(worker)s

-- name: drop_my_twins
delete from jobs.procrastinate_jobs mine where mine.status = 'doing' and mine.worker_id = %(worker)s and exists (
  select from jobs.procrastinate_jobs other where other.queueing_lock = mine.queueing_lock and other.status = 'todo')

-- name: waiting
select task_name as name, count(*) filter (where status = 'todo' and coalesce(scheduled_at, now()) <= now()) as due,
  count(*) filter (where status = 'todo' and scheduled_at > now()) as later,
  count(*) filter (where status = 'doing') as running
from jobs.procrastinate_jobs where status in ('todo', 'doing') group by task_name order by task_name

-- name: unextracted (what the user said and no model has looked at, and no job will)
select {{extract.turn}} from muniment.turns t
where space_id = %(space)s and role = 'user' and (at, turn_id) > (%(at)s, %(turn_id)s)
  and not exists (select from muniment.extractions e
    where e.space_id = %(space)s and e.turn_id = t.turn_id and e.source = 'model')
  and {{unwanted}}
order by at, turn_id limit %(limit)s

-- name: unwanted (by no job; the queue may be in another place than the turns, and is asked by itself)
%(space)s::text || ':extract:' || t.turn_id::text not in (
    select j.queueing_lock from jobs.procrastinate_jobs j
    where j.status = 'todo' and j.queue_name = 'extract' and j.lock = %(space)s::text and j.queueing_lock is not null
    union all
    select j.queueing_lock from jobs.procrastinate_jobs j
    where j.status = 'doing' and j.lock = %(space)s::text and j.queueing_lock is not null)
