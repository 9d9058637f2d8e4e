-- name: counts (the jobs of a tenant, or of the space that is entered, by name)
select name, count(*) filter (where status = 'todo' and coalesce(scheduled_at, now()) <= now()) as due,
  count(*) filter (where status = 'todo' and scheduled_at > now()) as later,
  count(*) filter (where status = 'doing') as running, count(*) filter (where error is not null) as failing
from jobs.queue where {{wanted}} group by name order by name

-- name: jobs (the same jobs one by one: failed ones first, then running ones, then by time)
select id, name, args ->> 'owner' as owner, status, attempts, error, scheduled_at, worker_id as worker
from jobs.queue where {{wanted}}
order by error is not null desc, status, coalesce(scheduled_at, '-infinity'::timestamptz), id limit %(limit)s

-- name: wanted (a job of a space, or of a tenant; what is of all spaces has no owner)
(%(space)s::text is null or split_part(dedup_key, ':', 1) = %(space)s::text)
  and (%(tenant)s::text is null or args ->> 'tenant' = %(tenant)s or args ->> 'owner' = '')

-- name: workers (the workers, and how many jobs each runs)
select w.id, w.last_heartbeat, extract(epoch from now() - w.last_heartbeat)::float8 as silent_seconds,
  (select count(*) from jobs.queue j where j.worker_id = w.id and j.status = 'doing') as running
from jobs.workers w order by w.last_heartbeat desc, w.id limit 200
