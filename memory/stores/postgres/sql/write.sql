-- name: enter (enters a space in the application's role)
select muniment.enter_space(%(space)s, null), set_config('role', 'muniment_app', true)

-- name: hold (keeps the token of a tenant from being deleted until the transaction ends; fails for one that is)
select muniment.hold_token(%(tenant)s)

-- name: found_space (inserts the space unless it exists)
insert into muniment.spaces (space_id, tenant_id, owner_id, owner_type, rev, created_at)
values (%(space)s, %(tenant)s, %(owner)s, %(owner_type)s, 0, %(at)s)
on conflict (space_id) do nothing

-- name: commit (commits a plan in one statement; fails when it is outdated or replayed, or in another role)
select muniment.commit_plan(%(space)s,
  case when muniment.hold_token(%(founding)s::jsonb ->> 'tenant_id') then %(founding)s::jsonb end,
  case when current_user = 'muniment_app' then %(expected)s::bigint
    else muniment.refuse('MU003', current_user::text) end, %(changes)s, %(memories)s, %(embeddings)b, %(words)b,
  %(lines)s, %(fresh)s, %(turns)s, %(extracted)s, %(relations)s, %(observations)s)

-- name: check_turns (fails when one of the turns was erased)
select muniment.refuse('40001', 'what was looked at has been erased') from unnest(%(turns)s::uuid[]) one (turn_id)
where not exists (select from muniment.turns t where t.space_id = %(space)s and t.turn_id = one.turn_id) limit 1

-- name: check_consumed (fails when one of the turns was consumed before the plans that lead to a revision)
select muniment.refuse('MU001', 'a turn of the plans is consumed') from unnest(%(turns)s::uuid[]) one (turn_id)
where not exists (
  select from muniment.turns t
  where t.space_id = %(space)s and t.turn_id = one.turn_id and t.consumed_rev = %(rev)s) limit 1

-- name: lock_space (keeps the space from being erased until the end of the transaction)
select rev from muniment.spaces where space_id = %(space)s for no key update

-- name: check_memories (fails when one of the memories was erased)
select muniment.refuse('40001', 'what was looked at has been erased') from unnest(%(ids)s::uuid[]) one (memory_id)
where not exists (select from muniment.memories m where m.space_id = %(space)s and m.memory_id = one.memory_id) limit 1

-- name: record_turns (enters the space and appends turns to their sessions unless they are recorded; fails in another role)
select muniment.record_turns(%(space)s, %(turns)s::jsonb,
  case when current_user = 'muniment_app' then %(now)s::timestamptz else to_timestamp(muniment.refuse('MU003', current_user::text)) end,
  %(oldest)s::timestamptz + %(keep)s::interval, %(founding)s::jsonb)

-- name: number_turns (gives positions to the turns of the space that have none)
select muniment.number_turns(%(space)s, %(now)s::timestamptz)

-- name: apply (writes more changes of the same plan)
select muniment.apply_changes(%(space)s, %(memories)s, %(embeddings)b, %(words)b, %(lines)s, %(fresh)s)

-- name: project (writes what these changes say in their slots)
select muniment.project_changes(%(space)s, %(memories)s)

-- name: insert_edges (inserts the edges of a plan whose changes take more than one statement)
insert into muniment.relations (space_id, from_id, to_id, relation_type, strength, created_at)
select %(space)s, from_id, to_id, relation_type, strength, created_at
from jsonb_populate_recordset(null::muniment.relations, %(relations)s::jsonb)
on conflict (space_id, from_id, to_id) do update set strength = excluded.strength

-- name: advance_cursor (moves the cursor of a thread, not beyond the revision of the space)
insert into muniment.thread_revision (space_id, thread_id, rev)
select %(space)s, %(thread)s, least(%(rev)s, rev) from muniment.spaces where space_id = %(space)s
on conflict (space_id, thread_id) do update set rev = greatest(thread_revision.rev, excluded.rev)

-- name: erased_at (when the space was erased last)
(select max(e.at) from muniment.erasures e where e.space_id = %(space)s and e.what = 'user')

-- name: found_unless_erased (inserts the space unless it exists or was erased since; a token's is erased for good)
insert into muniment.spaces (space_id, tenant_id, owner_id, owner_type, rev, created_at)
select %(space)s, %(tenant)s, %(owner)s, %(owner_type)s, 0, %(at)s
where coalesce({{erased_at}} < case when not muniment.has_own_models(%(tenant)s) then %(at)s::timestamptz else '-infinity' end, true)
on conflict (space_id) do nothing

-- name: record_events (inserts events that are later than the erasure of the space)
insert into muniment.events (space_id, event_id, user_id, thread_id, node, op, status, memory_id, category, sim, ts)
select %(space)s, gen_random_uuid(), %(owner)s, one.thread_id, one.node, one.op, one.status, one.memory_id,
  one.category, one.sim, one.ts
from jsonb_populate_recordset(null::muniment.events, %(events)s::jsonb) one
where coalesce({{erased_at}} < case when not muniment.has_own_models(%(tenant)s) then one.ts else '-infinity' end, true)
returning event_id

-- name: check_accesses (fails when one of the memories was retrieved since it was read)
select muniment.refuse('40001', 'retrieved meanwhile')
from unnest(%(ids)s::uuid[], %(read)s::timestamptz[]) r (memory_id, at)
join muniment.memories m on m.space_id = %(space)s and m.memory_id = r.memory_id
where m.last_accessed_at is distinct from r.at limit 1

-- name: record_access (counts retrievals, of a superseded memory for its heir; returns memories that a writer holds)
with recursive led as (
  select s.memory_id as seen, m.memory_id, m.heir, s.count, 0 as steps
  from unnest(%(ids)s::uuid[], %(counts)s::int[]) s (memory_id, count)
    cross join lateral ({{heir}} s.memory_id limit 1) m
  union all
  select l.seen, m.memory_id, m.heir, l.count, l.steps + 1
  from led l cross join lateral ({{heir}} l.heir limit 1) m where l.steps < %(steps)s
), stays as materialized (
  select distinct on (seen) seen, memory_id, count from led order by seen, steps desc
), free as (
  select m.memory_id from muniment.memories m
  where m.space_id = %(space)s and m.memory_id = any(array(select s.memory_id from stays s))
    for no key update skip locked
), done as (
  update muniment.memories m set last_accessed_at = greatest(m.last_accessed_at, %(at)s),
    access_count = m.access_count + s.count
  from free join (select memory_id, sum(count)::int as count from stays group by memory_id) s using (memory_id)
  where m.space_id = %(space)s and m.memory_id = free.memory_id
  returning m.memory_id
)
select seen as memory_id from stays where memory_id not in (select memory_id from done)

-- name: heir (a memory and the one that superseded it)
select m.memory_id, case when m.state = 'superseded' then m.superseded_by end as heir from muniment.memories m
where m.space_id = %(space)s and m.memory_id =

-- name: claim_request (keeps the receipt of a request beside its first plan; fails when another call with its key was first)
with mine as (
  insert into muniment.requests as r (space_id, key, digest, attempt, receipt, answered, at)
  values (%(space)s, %(key)s, %(digest)s, %(attempt)s, %(receipt)s, false, %(at)s)
  on conflict (space_id, key) do update set attempt = excluded.attempt, answered = false, at = excluded.at,
    digest = case when r.attempt = excluded.attempt then r.digest else excluded.digest end,
    receipt = case when r.attempt = excluded.attempt then r.receipt else excluded.receipt end
  where r.attempt = excluded.attempt or r.at <= %(outdated)s
  returning 1
)
select muniment.refuse('MU004', 'a request with this key was answered') where not exists (select from mine)

-- name: settle_request (keeps the whole receipt of a request, unless another call with its key was first)
insert into muniment.requests as r (space_id, key, digest, attempt, receipt, answered, at)
select s.space_id, %(key)s, %(digest)s, %(attempt)s, %(receipt)s, true, %(at)s from muniment.spaces s
where s.space_id = %(space)s
on conflict (space_id, key) do update set digest = excluded.digest, attempt = excluded.attempt, answered = true,
  at = excluded.at, receipt = excluded.receipt
where r.attempt = excluded.attempt and r.digest <> '' or r.at <= %(outdated)s

-- name: kept_request (the receipt that is kept under the key of a request)
select receipt, digest, attempt, answered from muniment.requests
where space_id = %(space)s and key = %(key)s and at > %(outdated)s
