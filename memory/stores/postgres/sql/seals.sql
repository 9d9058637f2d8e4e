-- name: head (where the journal of the space ends, and when all of the space was erased last)
select s.rev, s.sealed_from, s.head as digest, s.created_at as founded_at, (
    select max(e.at) from muniment.erasures e where e.space_id = %(space)s and e.what = 'user') as erased_at
from muniment.spaces s where s.space_id = %(space)s

-- name: erased (whether the space exists, and when all of it was erased last)
select exists (select from muniment.spaces s where s.space_id = %(space)s) as known, (
  select max(e.at) from muniment.erasures e where e.space_id = %(space)s and e.what = 'user') as at

-- name: owners (all spaces, each with whose it says that it is)
select space_id, tenant_id, owner_id, owner_type from muniment.spaces order by created_at, space_id

-- name: before (the digest of a line)
select digest from muniment.seals where space_id = %(space)s and rev = %(since)s

-- name: reseals (what erasures have left of lines, as far as the lines after a revision are concerned)
select rev, sealed_by, content, salt from muniment.reseals
where space_id = %(space)s and (rev >= %(first)s or sealed_by >= %(first)s or sealed_by = 0)

-- name: declare (opens the lines after a revision with their seals and rows, whose columns Postgres puts into one value)
declare chain no scroll cursor for
select coalesce(j.rev, s.rev, h.rev), s.digest, s.content, s.salt, j.meta, h.until, j.memory_id, j.new_ref is not null,
  case when j.rev is not null then pg_catalog.record_send(row(j.space_id, j.rev, j.memory_id, j.action, j.old_ref,
    j.new_ref, j.thread_id, j.node, j.actor, j.band, j.sim, j.ts, j.category)) end,
  case when h.rev is not null then pg_catalog.record_send(row({h.content_columns})) end
from (select * from muniment.journal where space_id = %(space)s and rev >= %(first)s) j
full join (select * from muniment.seals where space_id = %(space)s and rev >= %(first)s) s on s.rev = j.rev
full join (
  select m.rev, null::bigint as until, {m.content_columns} from muniment.memories m
  where m.space_id = %(space)s and m.rev >= %(first)s
  union all
  select v.from_rev, v.to_rev, {v.content_columns} from muniment.memory_versions v
  where v.space_id = %(space)s and v.from_rev >= %(first)s
) h on h.rev = coalesce(j.rev, s.rev)
order by 1

-- name: fetch (the next of them, for which the binary format is asked)
fetch forward 2000 from chain
