-- name: list (the resources of the space that have a statement)
select m.source as uri, count(*) filter (where m.state = 'active') as statements,
  count(*) filter (where m.state = 'pending') as waiting, min(m.created_at) as added_at, max(m.updated_at) as changed_at
from muniment.memories m
where m.space_id = %(space)s and m.trust = 'document' and m.source is not null and m.state in ('active', 'pending')
group by m.source order by m.source

-- name: statements (the statements of a resource, and why each was changed last)
select j.meta ->> 'why' as why, {m.memory_columns}
from muniment.memories m left join muniment.journal j on j.space_id = %(space)s and j.rev = m.rev
where m.space_id = %(space)s and m.trust = 'document' and m.source = %(uri)s
order by m.created_at, m.memory_id
