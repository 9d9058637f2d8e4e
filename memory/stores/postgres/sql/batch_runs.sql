-- name: lock_run (locks a run that is under way and does not wait; returns the queue's time)
select now() as now from muniment.consolidation_runs
where space_id = %(space)s and run_id = %(run_id)s and ended_at is null and status <> 'waiting' for update

-- name: uncollected_runs (the runs that have a job to collect their batch)
select args ->> 'key' as run_id from jobs.queue
where name = 'collect' and starts_with(dedup_key, %(space)s::text || ':')

-- name: release (clears the batch of a run that is over, and adds what late answers cost; no row when it is cleared)
update muniment.consolidation_runs set batch = null, requests = requests + %(requests)s,
  input_tokens = input_tokens + %(input_tokens)s, output_tokens = output_tokens + %(output_tokens)s,
    micros = micros + %(micros)s
where space_id = %(space)s and run_id = %(run_id)s and ended_at is not null and batch is not null
