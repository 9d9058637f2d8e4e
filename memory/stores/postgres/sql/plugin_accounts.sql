-- name: switch (whether the plugin is on in a session)
select is_on from muniment.plugin_switches where space_id = %(space)s and session_id = %(session)s

-- name: turn_switch (switches the plugin on or off in a session; the later time wins)
insert into muniment.plugin_switches as s (space_id, session_id, is_on, changed_at)
values (%(space)s, %(session)s, %(is_on)s, %(at)s)
on conflict (space_id, session_id) do update set is_on = excluded.is_on, changed_at = excluded.changed_at
where s.changed_at <= excluded.changed_at

-- name: record_turns (writes turns that are later than the erasure of the space, in place of former reports of them)
insert into muniment.plugin_turns (space_id, session_id, turn_id, project_id, at, policy, is_shadow, recall,
  recall_reason, is_hit, item_ids, tokens, written, duplicates, refusals, remote_reads, remote_writes, queue_length,
  milliseconds)
select %(space)s, one.session_id, one.turn_id, one.project_id, one.at, one.policy, one.is_shadow, one.recall,
  one.recall_reason, one.is_hit, one.item_ids, one.tokens, one.written, one.duplicates, one.refusals, one.remote_reads,
  one.remote_writes, one.queue_length, one.milliseconds
from jsonb_populate_recordset(null::muniment.plugin_turns, %(turns)s::jsonb) one
where coalesce({{write.erased_at}} < case when not muniment.has_own_models(%(tenant)s) then one.at else '-infinity' end, true)
on conflict (space_id, session_id, turn_id) do update set project_id = excluded.project_id, at = excluded.at,
  policy = excluded.policy, is_shadow = excluded.is_shadow, recall = excluded.recall,
  recall_reason = excluded.recall_reason, is_hit = excluded.is_hit, item_ids = excluded.item_ids,
  tokens = excluded.tokens, written = excluded.written, duplicates = excluded.duplicates, refusals = excluded.refusals,
  remote_reads = excluded.remote_reads, remote_writes = excluded.remote_writes, queue_length = excluded.queue_length,
  milliseconds = excluded.milliseconds

-- name: record_change (writes what a person has changed)
insert into muniment.plugin_audit (space_id, audit_id, session_id, project_id, at, action, item_id)
values (%(space)s, %(id)s, %(session_id)s, %(project_id)s, %(at)s, %(action)s, %(item_id)s)

-- name: written (how many items were written since)
select coalesce(sum(written), 0)::bigint as written from muniment.plugin_turns where space_id = %(space)s and at >= %(since)s

-- name: last_turn (the newest turn of a session)
select session_id, turn_id, project_id, at, policy, is_shadow, recall, recall_reason, is_hit, item_ids, tokens, written,
  duplicates, refusals, remote_reads, remote_writes, queue_length, milliseconds
from muniment.plugin_turns where space_id = %(space)s and session_id = %(session)s order by at desc limit 1

-- name: changes (what was changed last, newest first)
select session_id, project_id, at, action, item_id from muniment.plugin_audit
where space_id = %(space)s order by at desc, audit_id limit %(limit)s

-- name: of_space (the turns of a space since)
with counted as materialized (
  select at, policy, is_shadow, is_hit, tokens, written, duplicates, refusals, remote_reads, remote_writes, queue_length,
    milliseconds
  from muniment.plugin_turns where space_id = %(space)s and at >= %(since)s)

-- name: of_tenant (the turns of all spaces of a tenant since)
with counted as materialized (
  select t.at, t.policy, t.is_shadow, t.is_hit, t.tokens, t.written, t.duplicates, t.refusals, t.remote_reads,
    t.remote_writes, t.queue_length, t.milliseconds
  from muniment.plugin_turns t join muniment.spaces s on s.space_id = t.space_id
  where s.tenant_id = %(tenant)s and t.at >= %(since)s)

-- name: counts (what was counted: of all turns, and of each policy)
select policy, coalesce(is_shadow, false) as is_shadow, count(*) as turns, count(is_hit) as searched,
  count(*) filter (where is_hit) as hits, coalesce(sum(tokens), 0)::bigint as tokens,
  coalesce(sum(written), 0)::bigint as written, coalesce(sum(duplicates), 0)::bigint as duplicates,
  coalesce(sum(remote_reads), 0)::bigint as remote_reads, coalesce(sum(remote_writes), 0)::bigint as remote_writes,
  coalesce((array_agg(queue_length order by at desc))[1], 0) as queue_length
from counted group by grouping sets ((), (policy, is_shadow)) order by policy nulls first, is_shadow

-- name: refusals (how often each reason was given)
select policy, coalesce(is_shadow, false) as is_shadow, one.key, sum(one.value::bigint)::bigint as value
from counted cross join jsonb_each_text(refusals) one group by grouping sets ((key), (policy, is_shadow, key)) order by key

-- name: durations (the median of each step, and what 95 of 100 stay below)
select policy, coalesce(is_shadow, false) as is_shadow, one.key,
  percentile_cont(array[0.5, 0.95]) within group (order by one.value::float8) as value
from counted cross join jsonb_each_text(milliseconds) one group by grouping sets ((key), (policy, is_shadow, key)) order by key

-- name: space_counts (as of_space and counts)
{{of_space}} {{counts}}

-- name: space_refusals (as of_space and refusals)
{{of_space}} {{refusals}}

-- name: space_durations (as of_space and durations)
{{of_space}} {{durations}}

-- name: tenant_counts (as of_tenant and counts)
{{of_tenant}} {{counts}}

-- name: tenant_refusals (as of_tenant and refusals)
{{of_tenant}} {{refusals}}

-- name: tenant_durations (as of_tenant and durations)
{{of_tenant}} {{durations}}
