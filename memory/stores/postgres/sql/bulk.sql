-- name: row_types (the columns of tables with their types, and the row type of each table)
select c.relname as table, a.attname as name, a.atttypid::bigint as type, c.reltype::bigint as row
from pg_catalog.pg_attribute a join pg_catalog.pg_class c on c.oid = a.attrelid
where c.relnamespace = 'muniment'::regnamespace and c.relname = any(%(tables)s::text[]) and a.attnum > 0
  and not a.attisdropped
order by c.relname, a.attnum

-- name: splits_inserts (whether each insert has to be a statement of its own: `session.sql` makes the difference)
select current_setting('plan_cache_mode') = 'auto' as apart

-- name: plan_once (plans a statement once, so that a foreign key is not planned for every row)
select set_config('plan_cache_mode', 'force_generic_plan', true) where current_setting('plan_cache_mode') <> 'auto'

-- name: plan_each (plans each statement for its values)
select set_config('plan_cache_mode', 'force_custom_plan', true) where current_setting('plan_cache_mode') <> 'auto'

-- name: lock (locks the space for writers, not for rows that only refer to it)
select rev from muniment.spaces where space_id = %(space)s for no key update

-- name: sessions (inserts or advances the sessions of turns)
select muniment.keep_sessions(%(space)s, (
  select jsonb_agg(jsonb_build_object('session_id', t.session_id, 'thread_id', t.thread_id, 'at', t.at,
    'agent_id', %(agent)s::text, 'project_id', %(project)s::text,
    'app_id', %(app)s::text))
  from (
    select session_id, thread_id, unnest(array[min(at), max(at)]) as at
    from unnest(%(turns)b::muniment.turns[]) group by session_id, thread_id) t), %(at)s::timestamptz)

-- name: turns (inserts turns; returns those that were not consumed before, null for all of them)
with consumed as (
  {{turns_alone}}
)
select case when count(*) < %(said)s then coalesce(array_agg(turn_id), '{}') end as consumed
from consumed

-- name: turns_alone (the same in a statement of its own)
insert into muniment.turns (space_id, turn_id, session_id, thread_id, role, actor, text, at, source, path, tags,
    recalled, kind, payload, visible, consumed_rev, said_at)
  select %(space)s, t.turn_id, muniment.session_of(t.session_id, t.thread_id), t.thread_id, t.role, t.actor, t.text, t.at,
    t.source, t.path, t.tags, t.recalled, t.kind, t.payload, t.visible, (select rev from muniment.spaces where space_id = %(space)s) + %(most)s,
    statement_timestamp() - (%(at)s::timestamptz - t.at)
  from unnest(%(turns)b::muniment.turns[]) t
  on conflict (space_id, turn_id) do update set consumed_rev = excluded.consumed_rev where turns.consumed_rev is null
  returning turn_id

-- name: renumber_turns (corrects the revision of turns of memories that were left out)
update muniment.turns set consumed_rev = %(expected)s::bigint + %(changes)s
where space_id = %(space)s and consumed_rev = %(expected)s::bigint + %(most)s

-- name: bump (advances the space's revision)
update muniment.spaces set rev = rev + %(changes)s,
  projected_rev = case when projected_rev = rev then rev + %(changes)s else projected_rev end
where space_id = %(space)s and rev = %(expected)s

-- name: project (writes what the memories say in their slots)
select muniment.project_changes(%(space)s, %(slots)s)

-- name: memories (inserts memories, each with its journal line, numbered in order)
with brought as (
  {{memories_alone}}
), limited as (
  update muniment.spaces set has_limits = true where space_id = %(space)s and not has_limits
    and exists (select from brought b where b.reach <> 'user' or b.expires_at is not null)
)
{{lines}}
from brought b

-- name: memories_alone (inserts memories)
insert into muniment.memories (space_id, {content_columns}, access_count, rev, embedding, embedding_model, words)
  select %(space)s, {m.content_columns}, 0, %(expected)s::bigint + m.ordinality, m.embedding, m.embedding_model, m.words
  from unnest(%(memories)b::muniment.memories[]) with ordinality m
  returning memory_id, rev, created_at, category, reach, expires_at

-- name: lines (inserts the journal lines of inserted memories)
insert into muniment.journal (space_id, rev, memory_id, action, new_ref, thread_id, node, actor, band, meta, ts,
  category)
select %(space)s, b.rev, b.memory_id, 'ADD', b.memory_id || '@' || b.rev, %(thread)s, %(node)s, %(actor)s, 'new', '{}',
  b.created_at, b.category

-- name: lines_alone (the same in a statement of its own)
{{lines}}
from unnest(%(ids)s::uuid[], %(revs)s::bigint[], %(ats)s::timestamptz[], %(categories)s::text[])
  b (memory_id, rev, created_at, category)
returning rev

-- name: seal (seals the lines after the former revision)
select muniment.seal_lines(%(space)s, %(expected)s)

-- name: note_limits (notes whether a space has memories that are not found everywhere, or not for ever)
update muniment.spaces set has_limits = true where space_id = %(space)s and not has_limits and exists (
  select from muniment.memories m where m.space_id = %(space)s and (m.reach <> 'user' or m.expires_at is not null))

-- name: analyze (measures the table once, before autovacuum does)
select muniment.analyze_memories()
