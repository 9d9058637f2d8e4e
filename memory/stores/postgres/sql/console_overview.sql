-- name: count_changes (how many memories got into a category and state on a day, and out of it; the former days count as the first)
with former as materialized (
  select memory_id, from_rev as rev, category, state, updated_at from muniment.memory_versions where space_id = %(space)s
), moved as materialized (
  select distinct memory_id from former
), version as (
  select * from former
  union all
  select m.memory_id, m.rev, m.category, m.state, m.updated_at from muniment.memories m join moved using (memory_id)
  where m.space_id = %(space)s
), step as (
  select v.category, v.state, (coalesce(j.ts, v.updated_at) at time zone 'UTC')::date as day,
    lag(v.category) over life as former_category, lag(v.state) over life as former_state
  from version v left join lateral (
    select ts from muniment.journal where space_id = %(space)s and rev = v.rev and memory_id = v.memory_id limit 1
  ) j on true
  window life as (partition by v.memory_id order by v.rev)
), move as (
  select category, state, (updated_at at time zone 'UTC')::date as day, 1 as gained, 0 as lost
  from muniment.memories m
  where space_id = %(space)s and not exists (select from moved where moved.memory_id = m.memory_id)
  union all
  select category, state, day, 1, 0 from step
  where (category, state) is distinct from (former_category, former_state)
  union all
  select former_category, former_state, day, 0, 1 from step
  where former_state is not null and (category, state) is distinct from (former_category, former_state)
)
select category, state, greatest(day, %(since)s::date) as day, sum(gained)::int as gained, sum(lost)::int as lost from move
where category = any(%(allowed)s) group by category, state, greatest(day, %(since)s::date)
order by 3, category, state

-- name: days (what went on in a space on each day (UTC); a turn is remembered that a look wrote something of, or a memory rests on)
select day, sum(turns)::int as turns, sum(remembered)::int as remembered, sum(answered)::int as answered,
  sum(unanswered)::int as unanswered, sum(failed)::int as failed
from (
  select (t.at at time zone 'UTC')::date as day, count(*) as turns, count(kept.turn_id) as remembered,
    0 as answered, 0 as unanswered, 0 as failed
  from muniment.turns t left join (
    select turn_id from muniment.extractions where space_id = %(space)s and written > 0
    union
    select unnest(turns) from muniment.memories where space_id = %(space)s
  ) kept on kept.turn_id = t.turn_id
  where t.space_id = %(space)s and t.role = 'user' and t.kind = 'message'
    and t.at >= %(since)s::date::timestamp at time zone 'UTC'
  group by 1
  union all
  select (ts at time zone 'UTC')::date, 0, 0, count(*) filter (where status = 'ok'),
    count(*) filter (where status = 'skipped'), count(*) filter (where status = 'error')
  from muniment.events
  where space_id = %(space)s and node = 'context' and op = 'search' and ts >= %(since)s::date::timestamp at time zone 'UTC'
  group by 1
) told group by day order by day

-- name: figures (the jobs of a space, and the bytes of its words, vectors and turns)
select j.*, (
    select coalesce(sum({{stored}}), 0) from muniment.memories where space_id = %(space)s
  )::bigint + (
    select coalesce(sum({{stored}}), 0) from muniment.memory_versions where space_id = %(space)s
  )::bigint + (
    select coalesce(sum(pg_column_size(text) + coalesce(pg_column_size(payload), 0) + coalesce(pg_column_size(words), 0)), 0)
    from muniment.turns where space_id = %(space)s
  )::bigint as bytes
from (
  select count(*) filter (where status = 'todo' and coalesce(scheduled_at, now()) <= now()) as due,
    count(*) filter (where status = 'todo' and scheduled_at > now()) as later,
    count(*) filter (where status = 'doing') as running, count(*) filter (where error is not null) as failing
  from jobs.queue where split_part(dedup_key, ':', 1) = %(space)s::text
) j

-- name: stored (the bytes of a memory's words and vectors as they are stored; it may wait for its vectors)
pg_column_size(text) + coalesce(pg_column_size(embedding), 0) + coalesce(pg_column_size(words), 0)

-- name: database_size (the bytes of the database on disk)
select pg_database_size(current_database()) as bytes
