-- name: dump
select jsonb_build_object('type', 'space', 'format', 'muniment/1', 'rev', rev, 'created_at', created_at) as row, 0 as part, 0::bigint as n, '' as id
from muniment.spaces where space_id = %(space)s
union all
select to_jsonb(m) - '{space_id,embedding,embedding_model,words}'::text[] || '{"type": "memory"}', 1, m.rev, m.memory_id::text
from muniment.memories m where space_id = %(space)s
union all
select to_jsonb(v) - '{space_id,embedding,embedding_model,words}'::text[] || '{"type": "version"}', 2, v.from_rev, v.memory_id::text
from muniment.memory_versions v where space_id = %(space)s
union all
select to_jsonb(j) - 'space_id' || '{"type": "journal"}', 3, j.rev, '' from muniment.journal j where space_id = %(space)s
union all
select to_jsonb(r) - 'space_id' || '{"type": "relation"}', 4, 0, r.from_id::text || r.to_id::text
from muniment.relations r where space_id = %(space)s
union all
select to_jsonb(t) - 'space_id' || '{"type": "thread"}', 5, 0, t.thread_id
from muniment.thread_revision t where space_id = %(space)s
union all
select to_jsonb(t) - 'space_id' || '{"type": "turn"}', 6, extract(epoch from t.at)::bigint, t.turn_id::text
from muniment.turns t where space_id = %(space)s
order by part, n, id

-- name: load_space
update muniment.spaces set rev = %(rev)s, created_at = coalesce(%(created_at)s::timestamptz, created_at)
where space_id = %(space)s and rev = 0
returning rev

-- name: load_memory
insert into muniment.memories
select (jsonb_populate_record(null::muniment.memories, %(row)s || jsonb_build_object('space_id', %(space)s::uuid,
  'embedding', %(embedding)s::text, 'embedding_model', %(model)s::text, 'words', %(words)s::text))).*

-- name: load_version
insert into muniment.memory_versions
select (jsonb_populate_record(null::muniment.memory_versions, %(row)s || jsonb_build_object('space_id', %(space)s::uuid,
  'embedding', %(embedding)s::text, 'embedding_model', %(model)s::text, 'words', %(words)s::text))).*

-- name: load_journal
insert into muniment.journal
select (jsonb_populate_record(null::muniment.journal, %(row)s || jsonb_build_object('space_id', %(space)s::uuid))).*

-- name: load_relation
insert into muniment.relations
select (jsonb_populate_record(null::muniment.relations, %(row)s || jsonb_build_object('space_id', %(space)s::uuid))).*

-- name: load_thread
insert into muniment.thread_revision
select (jsonb_populate_record(null::muniment.thread_revision, %(row)s || jsonb_build_object('space_id', %(space)s::uuid))).*

-- name: load_turn
insert into muniment.turns
select (jsonb_populate_record(null::muniment.turns, %(row)s || jsonb_build_object('space_id', %(space)s::uuid))).*

-- name: strangers
select text from muniment.memories where space_id = %(space)s and embedding_model <> %(model)s
union
select text from muniment.memory_versions where space_id = %(space)s and embedding_model <> %(model)s
limit %(limit)s

-- name: revector
update muniment.memories set embedding = %(embedding)s, embedding_model = %(model)s
where space_id = %(space)s and embedding_model <> %(model)s and text = %(text)s

-- name: revector_versions
update muniment.memory_versions set embedding = %(embedding)s, embedding_model = %(model)s
where space_id = %(space)s and embedding_model <> %(model)s and text = %(text)s

-- name: active_embedder
select model from muniment.embedders where active

-- name: first_embedder
insert into muniment.embedders (model, active)
select %(model)s, true where not exists (select from muniment.embedders where active)
on conflict do nothing

-- name: retire_embedders
update muniment.embedders set active = false where active and model <> %(model)s

-- name: adopt_embedder
insert into muniment.embedders (model, active) values (%(model)s, true)
on conflict (model) do update set active = true
