-- name: retention_waits (in how many seconds each active memory is to be forgotten, as rules/policy/retention.py; what a resource states never)
select m.memory_id, least(extract(epoch from m.expires_at - %(now)s::timestamptz),
    case when not m.pinned and not (m.trust = 'document' and m.source is not null) and d.days is not null then coalesce(
      least(%(owner)s::bigint,
        case when a.agent is not null then a.days when m.agent_id is not null then %(agent)s::bigint end,
        case when m.session_id is not null then %(session)s::bigint end,
        case when m.run_id is not null then %(run)s::bigint end),
      case when %(below)s > 1 and (m.importance < 5 or %(below)s > 5)
        then greatest(d.days, greatest(0, m.importance - %(below)s + 1) * %(fade)s::bigint) end
    ) * 86400 - extract(
      epoch from %(now)s::timestamptz - greatest(m.created_at, m.updated_at, m.last_accessed_at)) end) as wait
from muniment.memories m
left join unnest(%(categories)s::text[], %(days)s::bigint[]) c (category, days) on c.category = m.category
left join unnest(%(agents)s::text[], %(agents_days)s::bigint[]) a (agent, days) on a.agent = m.agent_id
cross join lateral (select case when c.category is null then %(untouched)s::bigint else c.days end as days) d
where m.space_id = %(space)s and m.state = 'active'
  and (not m.pinned and not (m.trust = 'document' and m.source is not null) and d.days is not null or m.expires_at is not null)

-- name: forgettable (the memories that are due to be forgotten)
select {m.memory_columns}
from ({{retention_waits}}) f join muniment.memories m on m.space_id = %(space)s and m.memory_id = f.memory_id
where f.wait <= 0 order by f.wait, m.memory_id limit %(limit)s

-- name: purgeable (the forgotten memories that are due to be purged)
select memory_id from muniment.memories
where space_id = %(space)s and state = 'soft_deleted' and purge_at <= %(now)s
order by purge_at, memory_id limit %(limit)s

-- name: next (when a memory is due next)
select (select min(purge_at) from muniment.memories where space_id = %(space)s and state = 'soft_deleted') as purge_at,
  (select min(f.wait) from ({{retention_waits}}) f)::float8 as wait

-- name: lock_space (waits for what is being recorded: it refers to this row)
select rev from muniment.spaces where space_id = %(space)s for update

-- name: record (notes the maintenance of a space; changes by a consolidation count as checked)
update muniment.spaces set tended_at = %(at)s, tend_terms = %(terms)s,
  tended_rev = case when %(seen)s::bigint is null then tended_rev else coalesce((
    select min(j.rev) - 1 from muniment.journal j
    where j.space_id = %(space)s and j.rev > %(seen)s
      and not (j.node = 'worker' and j.meta ? 'run')), rev) end,
  tend_at = (
    select min(least(case when e.at > %(at)s then e.at else %(at)s + %(later)s::interval end, timestamptz '9998-12-31'))
    from (
      select %(again)s::timestamptz as at
      union all select min(t.at + case when s.session_id is null then %(turns)s::interval
          else make_interval(days => s.retention_days) end)
        from muniment.turns t left join muniment.sessions s
          on s.space_id = %(space)s and s.session_id = t.session_id and s.own_retention
        where t.space_id = %(space)s
      union all select min(last_at + case when own_retention then make_interval(days => retention_days)
          else %(turns)s::interval end) from muniment.sessions where space_id = %(space)s
      union all select min(ts) + %(events)s::interval from muniment.events where space_id = %(space)s
      union all select min(at) + %(events)s::interval from muniment.extractions where space_id = %(space)s
      union all select min(at) + %(events)s::interval from muniment.plugin_turns where space_id = %(space)s
      union all select min(at) + %(events)s::interval from muniment.plugin_audit where space_id = %(space)s
      union all select min(at) + %(requests)s::interval from muniment.requests where space_id = %(space)s
    ) e where e.at is not null)
where space_id = %(space)s and coalesce(%(seen)s::bigint <= rev, true)

-- name: advance_due_time (makes the space due no later than `keep` after a time)
update muniment.spaces set tend_at = least(%(at)s::timestamptz + %(keep)s::interval, timestamptz '9998-12-31')
where space_id = %(space)s and (tend_at is null or tend_at > %(at)s::timestamptz + %(keep)s::interval)

-- name: stale (turns past their days from which no memory waits to be built; a session may have days of its own, null for ever)
select t.turn_id, t.session_id from muniment.turns t
left join muniment.sessions s on s.space_id = %(space)s and s.session_id = t.session_id
where t.space_id = %(space)s and coalesce(t.position < s.built_to, true)
  and t.at < case when s.own_retention then %(now)s - make_interval(days => s.retention_days) else %(before)s end

-- name: stale_turns (old turns that no job needs)
{{stale}} and {{jobs.unneeded}}
limit %(limit)s

-- name: drop_turns (deletes turns)
delete from muniment.turns where space_id = %(space)s and turn_id = any(%(ids)s)

-- name: old_session (a session past its days)
s.space_id = %(space)s
  and s.last_at < case when s.own_retention then %(now)s - make_interval(days => s.retention_days) else %(before)s end

-- name: drop_sessions (deletes old sessions without turns)
delete from muniment.sessions s
where {{old_session}}
  and not exists (select from muniment.turns t where t.space_id = %(space)s and t.session_id = s.session_id)

-- name: drop_observations (deletes old observations of sessions that are gone)
delete from muniment.observations o
where o.space_id = %(space)s and o.at < %(before)s and o.session_id is not null
  and not exists (select from muniment.sessions s where s.space_id = %(space)s and s.session_id = o.session_id)

-- name: count_stale (how many turns are past their days, and sessions with none but such)
with stale as ({{stale}} and {{jobs.unneeded}})
select (select count(*) from stale) as turns, (
  select count(*) from muniment.sessions s
  where {{old_session}} and not exists (
    select from muniment.turns t where t.space_id = %(space)s and t.session_id = s.session_id
      and not exists (select from stale where stale.turn_id = t.turn_id))) as sessions

-- name: drop_events (deletes old events)
delete from muniment.events where space_id = %(space)s and ts < %(before)s

-- name: drop_plugin_turns (deletes old reports of the plugin's turns)
delete from muniment.plugin_turns where space_id = %(space)s and at < %(before)s

-- name: drop_plugin_audit (deletes old lines of what persons have changed in the plugin)
delete from muniment.plugin_audit where space_id = %(space)s and at < %(before)s

-- name: drop_bisect_replies (deletes old replies that were made again)
delete from muniment.bisect_replies where space_id = %(space)s and at < %(before)s

-- name: drop_extractions (deletes old extraction records of turns that are gone)
delete from muniment.extractions e where space_id = %(space)s and at < %(before)s
  and not exists (select from muniment.turns t where t.space_id = %(space)s and t.turn_id = e.turn_id)

-- name: drop_requests (deletes requests that are not sent again any more)
delete from muniment.requests where space_id = %(space)s and at <= %(now)s::timestamptz - %(requests)s::interval

-- name: drop_pairs (deletes what was decided of pairs long ago: they may be checked again)
delete from muniment.pair_fingerprints where space_id = %(space)s and checked_at < %(before)s

-- name: orphan_projections (the memories that projections are of and that are gone)
select distinct p.memory_id from muniment.projections p
where p.space_id = %(space)s and not exists (
  select from muniment.memories m where m.space_id = %(space)s and m.memory_id = p.memory_id)

-- name: orphan_observations (deletes what was found in a turn and became a memory that is gone)
delete from muniment.observations o
where o.space_id = %(space)s and o.memory_id is not null and not exists (
  select from muniment.memories m where m.space_id = %(space)s and m.memory_id = o.memory_id)

-- name: orphan_pairs (deletes what was decided of pairs with a memory that is gone)
delete from muniment.pair_fingerprints f
where f.space_id = %(space)s and (select count(*) from muniment.memories m
  where m.space_id = %(space)s and m.memory_id in (f.low_id, f.high_id)) < 2

-- name: drop_runs (deletes old runs without a change, but for the one that knows how far the space was compared)
delete from muniment.consolidation_runs r
where r.space_id = %(space)s and r.ended_at < %(before)s and r.same + r.superseded = 0 and r.status = 'done'
  and exists (
  select from muniment.consolidation_runs o
  where o.space_id = %(space)s and o.started_at > r.started_at and o.surveyed_rev >= r.surveyed_rev)

-- name: try_lock (whether this process maintains all spaces)
select pg_try_advisory_xact_lock(%(lock)s) as mine

-- name: due_spaces (a page of the spaces that are due; a maintenance later than now is from a wrong clock)
select space_id, tenant_id, owner_id, owner_type from muniment.spaces
where space_id > %(after)s and (tend_at <= %(now)s
  or ((rev > tended_rev or tended_at is null) and (tended_at is null or tended_at < %(edge)s))
  or tended_at > %(ahead)s or tend_terms is distinct from %(terms)s or projected_rev < rev)
order by space_id limit %(limit)s

-- name: enqueue_due (enqueues a job for each space, timed by the queue's own clock)
insert into jobs.queue (name, lock, dedup_key, args, scheduled_at)
select 'tend', t.dedup_key, t.dedup_key, t.args, now() + t.wait
from unnest(%(dedup_keys)s::text[], %(args)s::jsonb[], %(waits)s::interval[]) t (dedup_key, args, wait)
on conflict (dedup_key) where status = 'todo' do nothing

-- name: periodic (enqueues a job once for each slot; the latest slots are remembered)
with slot as (
  insert into jobs.slots (name, slot) values (%(name)s, %(slot)s)
  on conflict on constraint slots_once do nothing returning id
), old as (
  delete from jobs.slots where exists (select from slot) and id in (
    select id from jobs.slots where name = %(name)s order by id desc offset %(kept)s)
), job as (
  insert into jobs.queue (name, lock, dedup_key, args)
  select %(name)s, %(dedup_key)s, %(dedup_key)s, %(args)s from slot
  on conflict (dedup_key) where status = 'todo' do nothing
)
select count(*) > 0 as new from slot

-- name: unembedded (a page of memories and versions (with the revision they are from) that wait for a vector)
select * from (
  (select m.memory_id, 0::bigint as since, m.text, m.aliases from muniment.memories m
   where m.space_id = %(space)s and m.embedding_model = '' order by m.memory_id limit %(limit)s)
  union all
  (select m.memory_id, m.from_rev, m.text, m.aliases from muniment.memory_versions m
   where m.space_id = %(space)s and m.embedding_model = '' order by m.memory_id, m.from_rev limit %(limit)s)
) found order by memory_id, since limit %(limit)s

-- name: pause_writers (keeps writers of the space waiting until the end of the transaction; fails when the embedder is out of use)
select rev from muniment.spaces where space_id = %(space)s and muniment.expect_embedder(%(model)s) for share

-- name: write_vectors (writes the vectors of memories whose text and other names are unchanged)
update muniment.memories m set embedding = one.embedding, embedding_model = %(model)s
from unnest(%(ids)s::uuid[], %(texts)s::text[], %(starts)s::int[], %(ends)s::int[], %(embeddings)b::halfvec[])
  one (memory_id, text, starts, ends, embedding)
where m.space_id = %(space)s and m.memory_id = one.memory_id and m.text = one.text
  and m.aliases = (%(aliases)s::text[])[one.starts:one.ends] and m.embedding_model = ''

-- name: write_version_vectors (writes the vectors of versions)
update muniment.memory_versions m set embedding = one.embedding, embedding_model = %(model)s
from unnest(%(ids)s::uuid[], %(revs)s::bigint[], %(embeddings)b::halfvec[]) one (memory_id, from_rev, embedding)
where m.space_id = %(space)s and m.memory_id = one.memory_id and m.from_rev = one.from_rev and m.embedding_model = ''
