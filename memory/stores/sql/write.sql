-- name: enter
select muniment.enter_space(%(space)s, null)

-- name: found_space
insert into muniment.spaces (space_id, tenant_id, owner_id, owner_type, rev, created_at)
values (%(space)s, %(tenant)s, %(owner)s, %(owner_type)s, 0, %(at)s)
on conflict (space_id) do nothing

-- name: bump
update muniment.spaces set rev = rev + %(changes)s
where space_id = %(space)s and rev = %(expects)s
returning rev

-- name: consume
insert into muniment.turns (space_id, turn_id, session_id, thread_id, role, actor, text, at, source, path, tags, recalled,
  consumed_rev)
values (%(space)s, %(turn_id)s, %(session)s, %(thread)s, %(role)s, %(actor)s, %(text)s, %(at)s, %(source)s,
  %(path)s, %(tags)s, %(recalled)s, %(rev)s)
on conflict (space_id, turn_id) do update set consumed_rev = excluded.consumed_rev
where turns.consumed_rev is null
returning turn_id

-- name: record
insert into muniment.turns (space_id, turn_id, session_id, thread_id, role, actor, text, at, source, path, tags, recalled)
values (%(space)s, %(turn_id)s, %(session)s, %(thread)s, %(role)s, %(actor)s, %(text)s, %(at)s, %(source)s,
  %(path)s, %(tags)s, %(recalled)s)
on conflict (space_id, turn_id) do nothing

-- name: apply (a memory's row, its former version and its line of the journal are one statement)
with before as (
  select * from muniment.memories where space_id = %(space)s and memory_id = %(memory_id)s
), archived as (
  insert into muniment.memory_versions (
    space_id, memory_id, from_rev, to_rev, kind, category, text, fact, stable_key, importance, confidence, trust, pinned,
    state, tags, agent_id, run_id, actor_id, role, session_id, thread_id, event_time, created_at, updated_at, purge_at,
    superseded_by, context, turns, embedding, embedding_model, words)
  select space_id, memory_id, rev, %(rev)s, kind, category, text, fact, stable_key, importance, confidence, trust, pinned,
    state, tags, agent_id, run_id, actor_id, role, session_id, thread_id, event_time, created_at, updated_at, purge_at,
    superseded_by, context, turns, embedding, embedding_model, words
  from before
), written as (
  insert into muniment.memories (
    space_id, memory_id, kind, category, text, fact, stable_key, importance, confidence, trust, pinned, state, tags,
    agent_id, run_id, actor_id, role, session_id, thread_id, event_time, created_at, updated_at, access_count, purge_at,
    rev, superseded_by, context, turns, embedding, embedding_model, words)
  values (
    %(space)s, %(memory_id)s, %(kind)s, %(category)s, %(text)s, %(fact)s, %(stable_key)s, %(importance)s, %(confidence)s,
    %(trust)s, %(pinned)s, %(state)s, %(tags)s, %(agent_id)s, %(run_id)s, %(actor_id)s, %(role)s, %(session_id)s,
    %(thread_id)s, %(event_time)s, %(created_at)s, %(updated_at)s, 0, %(purge_at)s, %(rev)s, %(superseded_by)s,
    %(context)s, %(turns)s, coalesce(%(embedding)s, (select embedding from before)),
    coalesce(%(embedding_model)s, (select embedding_model from before)), %(words)s)
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
values (%(space)s, %(rev)s, %(memory_id)s, %(action)s,
  (select memory_id::text || '@' || rev from before), %(memory_id)s::text || '@' || %(rev)s::text,
  %(in_thread)s, %(node)s, %(actor)s, %(band)s, %(sim)s, %(meta)s, %(at)s)

-- name: relate
insert into muniment.relations (space_id, from_id, to_id, relation_type, strength, created_at)
values (%(space)s, least(%(a)s::uuid, %(b)s::uuid), greatest(%(a)s::uuid, %(b)s::uuid), %(relation_type)s, %(strength)s, %(at)s)
on conflict (space_id, from_id, to_id) do update set strength = excluded.strength

-- name: seen
insert into muniment.thread_revision (space_id, thread_id, rev)
select %(space)s, %(thread)s, %(rev)s from muniment.spaces where space_id = %(space)s
on conflict (space_id, thread_id) do update set rev = greatest(thread_revision.rev, excluded.rev)

-- name: track
insert into muniment.events (space_id, event_id, user_id, thread_id, node, op, status, memory_id, category, sim, ts)
values (%(space)s, %(event_id)s, %(user_id)s, %(thread_id)s, %(node)s, %(op)s, %(status)s, %(memory_id)s, %(category)s,
  %(sim)s, %(ts)s)
