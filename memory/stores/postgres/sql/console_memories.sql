-- name: versions (the journal of a memory, newest first, each line with the memory as it was then)
select j.rev as change_rev, j.ts as change_ts, j.action as change_action, j.node as change_node,
  j.actor as change_actor, j.meta as change_meta, {m.shown_columns}
from (
  select o.rev, o.memory_id, o.ts, o.action, o.node, o.actor, o.meta from muniment.journal o
  where o.space_id = %(space)s and o.memory_id = %(memory_id)s order by o.rev desc limit %(limit)s
) j left join lateral (
  select {c.memory_columns} from muniment.memories c
  where c.space_id = %(space)s and c.memory_id = j.memory_id and c.rev <= j.rev
  union all
  select {c.version_columns} from muniment.memory_versions c
  where c.space_id = %(space)s and c.memory_id = j.memory_id and c.from_rev <= j.rev and c.to_rev > j.rev
) m on true
order by j.rev desc

-- name: recalls (the turns at which all word sequences of one of the texts were before a model, newest first)
select t.turn_id as turn, t.at, t.role, t.thread_id as thread, t.session_id as session, t.actor
from muniment.turns t
where t.space_id = %(space)s and t.recalled <> '{}'
  and exists (select from unnest(%(prints)s::text[]) p where t.recalled @> p::bigint[])
order by t.at desc, t.turn_id limit %(limit)s

-- name: facets (the most frequent sources and agents)
(select 'source' as facet, m.source as value, count(*) as memories from muniment.memories m
 where m.space_id = %(space)s and m.source is not null group by m.source order by memories desc, value limit %(limit)s)
union all
(select 'agent', m.agent_id, count(*) as memories from muniment.memories m
 where m.space_id = %(space)s and m.agent_id is not null
 group by m.agent_id order by memories desc, m.agent_id limit %(limit)s)
