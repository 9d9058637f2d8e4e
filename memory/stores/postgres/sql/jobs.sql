-- name: enqueue (inserts a job, unless the same job waits already)
insert into jobs.queue (name, priority, lock, dedup_key, args, scheduled_at)
values (%(name)s, %(priority)s, %(lock)s, %(dedup_key)s, %(args)s, %(at)s)
on conflict (dedup_key) where status = 'todo' do nothing

-- name: enqueue_full (inserts a job for a session, unless it waits already or fewer turns of the user wait to be built from)
insert into jobs.queue (name, priority, lock, dedup_key, args, scheduled_at)
select %(name)s::text, %(priority)s::int, %(lock)s::text, %(dedup_key)s::text, %(args)s::jsonb, %(at)s::timestamptz
where %(turns)s::int <= (
  select count(*) from (
    select 1 from muniment.turns t
    where t.space_id = %(space)s and t.session_id = %(session)s and t.role = 'user' and t.kind = 'message'
      and t.position >= (
        select s.built_to from muniment.sessions s where s.space_id = %(space)s and s.session_id = %(session)s)
    limit %(turns)s::int) waiting)
on conflict (dedup_key) where status = 'todo' do nothing

-- name: register (inserts a worker)
insert into jobs.workers default values returning id as worker_id

-- name: heartbeat (notes that a worker is alive; no row when it counts as dead)
update jobs.workers set last_heartbeat = now() where id = %(worker)s returning id

-- name: by_index (makes the planner use the indexes: the statistics of a queue are always old)
select set_config(name, 'off', true) from unnest(array['enable_seqscan', 'enable_bitmapscan', 'enable_sort']) as name

-- name: take_in_order (takes the first due job of a lock that no worker holds, from a random lock on)
with recursive head as (
  ({{first}} and lock >= %(start)s and (%(end)s::text is null or lock < %(end)s) order by lock, priority desc, id
    limit 1)
  union all
  select next.* from head, lateral (
    {{first}} and lock > head.lock and (%(end)s::text is null or lock < %(end)s) order by lock, priority desc, id
      limit 1) next
)
update jobs.queue set status = 'doing', worker_id = %(worker)s
where id = (
  select mine.id from head, lateral (
    select id from jobs.queue j where j.id = head.id and j.status = 'todo' and {{wanted}} for update skip locked) mine
  where coalesce(head.scheduled_at <= now(), true)
    and (select 1 from jobs.queue other where other.lock = head.lock and other.status = 'doing') is null
  limit 1)
returning id, name, args, attempts

-- name: first (the jobs that extract turns)
select lock, id, scheduled_at from jobs.queue where status = 'todo' and name = 'extract'

-- name: take_by_time (takes the job that has been due longest)
update jobs.queue set status = 'doing', worker_id = %(worker)s
where id = (
  select mine.id from (select distinct name from unnest(%(names)s::text[] || %(own_names)s::text[]) n (name)) wanted
  cross join lateral (
    select id, coalesce(scheduled_at, '-infinity'::timestamptz) as due from jobs.queue j
    where j.status = 'todo' and j.name <> 'extract' and j.name = wanted.name and {{wanted}}
      and coalesce(j.scheduled_at, '-infinity'::timestamptz) <= now()
      and (select 1 from jobs.queue other where other.lock = j.lock and other.status = 'doing') is null
    order by coalesce(j.scheduled_at, '-infinity'::timestamptz) limit 1 for update skip locked) mine
  order by mine.due limit 1)
returning id, name, args, attempts

-- name: wanted (a job that the worker performs; the space of a token with its own models wants that token's)
j.name = any(case when muniment.has_own_models(j.args ->> 'tenant') then %(own_names)s::text[] else %(names)s::text[] end)

-- name: finish (deletes a job that this worker holds)
delete from jobs.queue mine where {{own}}

-- name: reschedule (puts a job back; one that was enqueued again meanwhile replaces it)
with twin as (
  delete from jobs.queue mine where {{own}} and exists (
    select from jobs.queue other where other.dedup_key = mine.dedup_key and other.status = 'todo')
  returning mine.id
)
update jobs.queue mine set status = 'todo', worker_id = null, attempts = attempts + 1,
  scheduled_at = now() + %(wait)s::interval, priority = least(priority, %(priority)s), error = %(error)s
where {{own}} and not exists (select from twin)

-- name: hasten (makes a waiting job due at once: of a space, or of a tenant and of all spaces)
update jobs.queue set scheduled_at = now()
where id = %(id)s and status = 'todo' and (%(space)s::text is null or split_part(dedup_key, ':', 1) = %(space)s::text)
  and (args ->> 'tenant' = %(tenant)s or %(space)s::text is null and args ->> 'owner' = '')
returning id

-- name: own (a job that this worker holds)
mine.id = %(id)s and mine.status = 'doing' and mine.worker_id = %(worker)s

-- name: unregister (deletes a worker)
delete from jobs.workers where id = %(worker)s

-- name: delete_dead_workers (deletes workers without a heartbeat)
delete from jobs.workers where last_heartbeat < now() - make_interval(secs => %(seconds)s)

-- name: drop_twins (deletes jobs without a worker that were enqueued again)
delete from jobs.queue mine where mine.status = 'doing' and mine.worker_id is null and exists (
  select from jobs.queue other where other.dedup_key = mine.dedup_key and other.status = 'todo')

-- name: requeue (puts jobs without a worker back, later with each attempt)
update jobs.queue set status = 'todo', attempts = attempts + 1,
  scheduled_at = now() + least(%(longest)s, power(2, least(attempts, 20)) - 1) * interval '1 second'
where status = 'doing' and worker_id is null

-- name: release (puts the jobs of a worker back, due at once)
update jobs.queue set status = 'todo', worker_id = null, scheduled_at = now()
where status = 'doing' and worker_id = %(worker)s

-- name: drop_own_twins (deletes jobs of a worker that were enqueued again)
delete from jobs.queue mine where mine.status = 'doing' and mine.worker_id = %(worker)s and exists (
  select from jobs.queue other where other.dedup_key = mine.dedup_key and other.status = 'todo')

-- name: counts (the jobs by name and state)
select name, count(*) filter (where status = 'todo' and coalesce(scheduled_at, now()) <= now()) as due,
  count(*) filter (where status = 'todo' and scheduled_at > now()) as later,
  count(*) filter (where status = 'doing') as running
from jobs.queue group by name order by name

-- name: unextracted (the user's turns that no model has read and no job will)
select {{ledger.turn}} from muniment.turns t
where space_id = %(space)s and role = 'user' and kind = 'message' and (at, turn_id) > (%(at)s, %(turn_id)s)
  and not exists (select from muniment.extractions e
    where e.space_id = %(space)s and e.turn_id = t.turn_id and e.source = 'model')
  and {{unneeded}}
order by at, turn_id limit %(limit)s

-- name: unneeded (no job needs the turn or its session; the queue may be on another node than the turns)
not (array[%(space)s::text || ':extract:' || t.turn_id::text, %(space)s::text || ':build:' || t.session_id,
    %(space)s::text || ':build_missed:' || t.session_id] && array(
  select j.dedup_key from jobs.queue j
  where j.status = 'todo' and j.name in ('extract', 'build', 'build_missed') and j.lock = %(space)s::text
  union all
  select j.dedup_key from jobs.queue j
  where j.status = 'doing' and j.lock = %(space)s::text))
