-- name: find (where ids lead: an id that no host has given to the memory of this id, and a superseded memory to its heir)
with recursive asked as materialized (
  select w.id, coalesce(h.digest, '') as digest, h.forgotten_at is not null as is_forgotten, h.item_id is not null as is_known,
    case when h.item_id is null then w.id else h.memory_id end as memory_id
  from unnest(%(ids)s::uuid[]) w (id)
    left join muniment.host_items h on h.space_id = %(space)s and h.item_id = w.id
), led as (
  select a.id, m.memory_id, m.heir, 0 as steps
  from asked a cross join lateral ({{heir}} a.memory_id limit 1) m
  union all
  select l.id, m.memory_id, m.heir, l.steps + 1
  from led l cross join lateral ({{heir}} l.heir limit 1) m where l.steps < 16
)
select a.id, a.digest, a.is_forgotten, s.memory_id as memory
from asked a left join (select distinct on (id) id, memory_id from led order by id, steps desc) s on s.id = a.id
where a.is_known or s.memory_id is not null

-- name: heir (a memory and the one that superseded it)
select m.memory_id, case when m.state = 'superseded' then m.superseded_by end as heir from muniment.memories m
where m.space_id = %(space)s and m.memory_id =

-- name: keep (writes where ids lead from now on, unless they are forgotten)
insert into muniment.host_items as h (space_id, item_id, memory_id, digest)
select %(space)s, one.item_id, one.memory_id, one.digest
from unnest(%(ids)s::uuid[], %(memories)s::uuid[], %(digests)s::bytea[]) one (item_id, memory_id, digest)
on conflict (space_id, item_id) do update set memory_id = excluded.memory_id, digest = excluded.digest
where h.forgotten_at is null

-- name: check_kept (fails when one of the ids was forgotten, or what one says)
select muniment.refuse('MU006', 'an item was forgotten meanwhile') from muniment.host_items h
where h.space_id = %(space)s and h.forgotten_at is not null
  and (h.item_id = any(%(ids)s::uuid[]) or h.said = any(%(said)s::bytea[])) limit 1

-- name: forget (records that an id is forgotten, with what it said, in a space that there is)
insert into muniment.host_items as h (space_id, item_id, digest, said, forgotten_at)
select s.space_id, %(id)s, '', %(said)s, %(at)s from muniment.spaces s where s.space_id = %(space)s
on conflict (space_id, item_id) do update
set forgotten_at = coalesce(h.forgotten_at, excluded.forgotten_at), said = coalesce(h.said, excluded.said)

-- name: find_said (a row where the same words were forgotten under whatever id)
select 1 from muniment.host_items h
where h.space_id = %(space)s and h.said = %(said)s and h.forgotten_at is not null limit 1
