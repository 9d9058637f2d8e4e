-- name: enter
select muniment.enter_space(%(space)s, null)

-- name: enter_plan (its statements are always the same and find rows by key: planned once, never by a scan)
select muniment.enter_space(%(space)s, null), set_config('plan_cache_mode', 'force_generic_plan', true),
  set_config('enable_seqscan', 'off', true)

-- name: found_space
insert into muniment.spaces (space_id, tenant_id, owner_id, owner_type, rev, created_at)
values (%(space)s, %(tenant)s, %(owner)s, %(owner_type)s, 0, %(at)s)
on conflict (space_id) do nothing

-- name: bump (40001: serialization failure)
with bumped as (
  update muniment.spaces set rev = rev + %(changes)s where space_id = %(space)s and rev = %(expects)s returning rev
)
select coalesce((select rev from bumped), muniment.refuse('40001', 'the space is at another revision by now'))

-- name: consume (MU001: a replay)
with taken as (
  insert into muniment.turns (space_id, turn_id, session_id, thread_id, role, actor, text, at, source, path, tags,
    recalled, consumed_rev)
  select %(space)s, turn_id, session_id, thread_id, role, actor, text, at, source, path, tags, recalled, %(rev)s
  from jsonb_populate_recordset(null::muniment.turns, %(turns)s::jsonb)
  on conflict (space_id, turn_id) do update set consumed_rev = excluded.consumed_rev where turns.consumed_rev is null
  returning turn_id
)
select coalesce((select count(*) from taken having count(*) > 0), muniment.refuse('MU001', 'consumed before'))

-- name: record
insert into muniment.turns (space_id, turn_id, session_id, thread_id, role, actor, text, at, source, path, tags, recalled)
values (%(space)s, %(turn_id)s, %(session)s, %(thread)s, %(role)s, %(actor)s, %(text)s, %(at)s, %(source)s,
  %(path)s, %(tags)s, %(recalled)s)
on conflict (space_id, turn_id) do nothing

-- name: apply (memories, their former versions and their lines of the journal are one statement)
with incoming as materialized (
  select * from jsonb_populate_recordset(null::muniment.memories, %(memories)s::jsonb) with ordinality
), before as materialized (
  select * from muniment.memories where space_id = %(space)s and memory_id = any(%(ids)s::uuid[])
), archived as (
  insert into muniment.memory_versions (
    space_id, memory_id, from_rev, to_rev, kind, category, text, fact, stable_key, importance, confidence, trust, pinned,
    state, tags, agent_id, run_id, actor_id, role, session_id, thread_id, event_time, created_at, updated_at, purge_at,
    superseded_by, context, turns, embedding, embedding_model, words)
  select %(space)s, b.memory_id, b.rev, m.rev, b.kind, b.category, b.text, b.fact, b.stable_key, b.importance,
    b.confidence, b.trust, b.pinned, b.state, b.tags, b.agent_id, b.run_id, b.actor_id, b.role, b.session_id,
    b.thread_id, b.event_time, b.created_at, b.updated_at, b.purge_at, b.superseded_by, b.context, b.turns, b.embedding,
    b.embedding_model, b.words
  from before b join incoming m using (memory_id)
), written as (
  insert into muniment.memories (
    space_id, memory_id, kind, category, text, fact, stable_key, importance, confidence, trust, pinned, state, tags,
    agent_id, run_id, actor_id, role, session_id, thread_id, event_time, created_at, updated_at, access_count, purge_at,
    rev, superseded_by, context, turns, embedding, embedding_model, words)
  select %(space)s, m.memory_id, m.kind, m.category, m.text, m.fact, m.stable_key, m.importance, m.confidence, m.trust,
    m.pinned, m.state, m.tags, m.agent_id, m.run_id, m.actor_id, m.role, m.session_id, m.thread_id, m.event_time,
    m.created_at, m.updated_at, 0, m.purge_at, m.rev, m.superseded_by, m.context, m.turns,
    coalesce((%(embeddings)s::halfvec[])[ordinality], b.embedding), coalesce(m.embedding_model, b.embedding_model),
    (%(words)s::sparsevec[])[ordinality]
  from incoming m left join before b using (memory_id) order by ordinality
  on conflict (space_id, memory_id) do update set
    kind = excluded.kind, category = excluded.category, text = excluded.text, fact = excluded.fact,
    stable_key = excluded.stable_key, importance = excluded.importance, confidence = excluded.confidence,
    trust = excluded.trust, pinned = excluded.pinned, state = excluded.state, tags = excluded.tags,
    actor_id = excluded.actor_id, role = excluded.role, session_id = excluded.session_id,
    thread_id = excluded.thread_id, event_time = excluded.event_time, updated_at = excluded.updated_at,
    purge_at = excluded.purge_at, rev = excluded.rev, superseded_by = excluded.superseded_by,
    context = excluded.context, turns = excluded.turns, embedding = excluded.embedding,
    embedding_model = excluded.embedding_model, words = excluded.words
)
insert into muniment.journal (
  space_id, rev, memory_id, action, old_ref, new_ref, thread_id, node, actor, band, sim, meta, ts)
select %(space)s, j.rev, memory_id, j.action, memory_id || '@' || b.rev, memory_id || '@' || j.rev, j.thread_id, j.node,
  j.actor, j.band, j.sim, j.meta, j.ts
from jsonb_populate_recordset(null::muniment.journal, %(lines)s::jsonb) j left join before b using (memory_id)

-- name: relate
insert into muniment.relations (space_id, from_id, to_id, relation_type, strength, created_at)
select %(space)s, from_id, to_id, relation_type, strength, created_at
from jsonb_populate_recordset(null::muniment.relations, %(relations)s::jsonb)
on conflict (space_id, from_id, to_id) do update set strength = excluded.strength

-- name: seen
insert into muniment.thread_revision (space_id, thread_id, rev)
select %(space)s, %(thread)s, %(rev)s from muniment.spaces where space_id = %(space)s
on conflict (space_id, thread_id) do update set rev = greatest(thread_revision.rev, excluded.rev)

-- name: track
insert into muniment.events (space_id, event_id, user_id, thread_id, node, op, status, memory_id, category, sim, ts)
values (%(space)s, %(event_id)s, %(user_id)s, %(thread_id)s, %(node)s, %(op)s, %(status)s, %(memory_id)s, %(category)s,
  %(sim)s, %(ts)s)
