-- name: columns (the columns of a projection)
p.projection_id, p.type, p.key, p.memory_id, p.status, p.title, p.data, p.category, p.trust, p.memories, p.rev,
p.superseded_by, p.at

-- name: ordered (slot by slot, what is active first)
order by p.type, p.key, array_position('{active,conflict,support,outranked,pending,superseded,rejected}', p.status),
  p.at desc, p.projection_id

-- name: list (a page of projections)
select {{columns}} from muniment.projections p where p.space_id = %(space)s{narrowed} {{ordered}}
limit %(limit)s offset %(offset)s

-- name: by_types (filters of a list)
and p.type = any(%(types)s)

-- name: by_statuses
and p.status = any(%(statuses)s)

-- name: by_key
and p.key = %(key)s

-- name: by_memories
and p.memory_id = any(%(memories)s)

-- name: by_beginning
and (p.projection_id between {{first}} and {{last}} or p.memory_id between {{first}} and {{last}})

-- name: first (the first id that begins so)
rpad(%(beginning)s, 32, '0')::uuid

-- name: last (the last one)
rpad(%(beginning)s, 32, 'f')::uuid

-- name: rank (what projections of memories that are no space are beside each other)
select {{columns}} from muniment.rank_projections(array(
  select r from jsonb_populate_recordset(null::muniment.projections, %(rows)s::jsonb) r)) p {{ordered}}

-- name: has_ended (whether a memory of the space is past its end, and waits for the maintenance)
select {{search.has_limits}} and exists (select from muniment.memories m where {{ended}}) as found

-- name: lasting (the rows of the space without those of such memories)
select coalesce(jsonb_agg(p), '[]')::text as given from muniment.projections p
where p.space_id = %(space)s and p.memory_id not in (select m.memory_id from muniment.memories m where {{ended}})

-- name: ended (what is past its end)
m.space_id = %(space)s and m.state = 'active' and m.expires_at <= coalesce(%(at)s::timestamptz, now())

-- name: lag (how many revisions are not projected)
select rev - projected_rev as lag from muniment.spaces where space_id = %(space)s

-- name: lock (keeps writers of the space waiting)
select rev from muniment.spaces where space_id = %(space)s for no key update

-- name: digests (a digest of each projection)
select p.projection_id, md5(p::text) as digest from muniment.projections p where p.space_id = %(space)s

-- name: delete (deletes the projections of the space)
delete from muniment.projections where space_id = %(space)s

-- name: memories (a page of the memories of the space)
select {m.memory_columns} from muniment.memories m
where m.space_id = %(space)s and m.memory_id > %(after)s order by m.memory_id limit %(limit)s

-- name: project (writes what memories say in their slots)
select muniment.project_changes(%(space)s, %(memories)s)

-- name: note (notes that the space is projected)
update muniment.spaces set projected_rev = rev where space_id = %(space)s
