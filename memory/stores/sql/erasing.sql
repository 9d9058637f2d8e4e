-- name: eraser
set local role muniment_eraser

-- name: lock (waits for everybody who writes into the space or refers to it, and lets nobody begin)
select rev from muniment.spaces where space_id = %(space)s for update

-- name: due
select memory_id, rev from muniment.memories
where space_id = %(space)s and memory_id = any(%(ids)s) and state <> 'active' and purge_at <= %(at)s order by memory_id

-- name: bump
update muniment.spaces set rev = rev + %(count)s where space_id = %(space)s

-- name: postings (the lists of a large space lose the memories, and those that are empty then go)
with gone as materialized (
  select words, actor_id from muniment.memories where space_id = %(space)s and memory_id = any(%(ids)s)
  union all
  select words, actor_id from muniment.memory_versions where space_id = %(space)s and memory_id = any(%(ids)s)
), listed as materialized (
  select split_part(w, ':', 1)::int as dimension
  from gone cross join string_to_table(btrim(split_part(words::text, '/', 1), '{}'), ',') w where w <> ''
  union
  select muniment.speaker_dimension(lower(actor_id)) from gone where actor_id is not null
)
update muniment.postings p set (df, memories, weights) = (
  select count(*), coalesce(array_agg(u.memory_id order by u.n), '{}'), coalesce(array_agg(u.weight order by u.n), '{}')
  from unnest(p.memories, p.weights) with ordinality u (memory_id, weight, n) where u.memory_id <> all(%(ids)s)
)
where p.space_id = %(space)s and p.dimension = any(array(select dimension from listed)) and p.memories && %(ids)s

-- name: empty_postings
delete from muniment.postings where space_id = %(space)s and dimension <> 0 and df = 0

-- name: relations
delete from muniment.relations where space_id = %(space)s and (from_id = any(%(ids)s) or to_id = any(%(ids)s))

-- name: pair_fingerprints
delete from muniment.pair_fingerprints where space_id = %(space)s and (low_id = any(%(ids)s) or high_id = any(%(ids)s))

-- name: consent_requests
delete from muniment.consent_requests where space_id = %(space)s and memory_id = any(%(ids)s)

-- name: events
delete from muniment.events where space_id = %(space)s and memory_id = any(%(ids)s)

-- name: heirs (what was replaced by it is replaced by nothing that is there)
update muniment.memories set superseded_by = null where space_id = %(space)s and superseded_by = any(%(ids)s)

-- name: former_heirs
update muniment.memory_versions set superseded_by = null where space_id = %(space)s and superseded_by = any(%(ids)s)

-- name: memory_versions
delete from muniment.memory_versions where space_id = %(space)s and memory_id = any(%(ids)s)

-- name: memories
delete from muniment.memories where space_id = %(space)s and memory_id = any(%(ids)s)

-- name: journal (of what is written beside a line only words of ours stay)
update muniment.journal set meta = (
  select coalesce(jsonb_object_agg(key, value), '{}') from jsonb_each(meta)
  where key in ('why', 'notes', 'consent', 'field', 'run', 'hard')
)
where space_id = %(space)s and memory_id = any(%(ids)s) and meta <> '{}'

-- name: last_lines
insert into muniment.journal (space_id, rev, memory_id, action, old_ref, node, actor, meta, ts)
select %(space)s, %(rev)s + n, memory_id, 'DELETE', memory_id || '@' || rev, %(node)s, %(actor)s,
  jsonb_build_object('hard', true, 'why', %(why)s::text), %(at)s
from unnest(%(ids)s::uuid[], %(revs)s::bigint[]) with ordinality gone (memory_id, rev, n)

-- name: receipt
insert into muniment.erasures (space_id, erasure_id, what, counts, at)
values (%(space)s, %(id)s, %(what)s, %(counts)s, %(at)s)
