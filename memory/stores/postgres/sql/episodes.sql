-- name: recent (the episodes that are active and of today, or young enough to be merged with)
select {{read.columns}} from muniment.memories m
where m.space_id = %(space)s and m.state = 'active' and m.category = %(category)s and m.kind = 'episodic'
  and %(tag)s = any(m.tags) and m.updated_at >= %(since)s
order by m.updated_at desc, m.memory_id

-- name: untold (the user's turns of a thread that no episode tells of, oldest first)
select {{extract.turn}}
from muniment.turns t
where t.space_id = %(space)s and t.thread_id = %(thread)s and t.role = 'user' and t.at >= %(since)s
  and not exists (
    select from muniment.memories m
    where m.space_id = %(space)s and m.category = %(category)s and m.kind = 'episodic' and %(tag)s = any(m.tags)
      and m.updated_at >= %(since)s and t.turn_id = any(m.turns))
order by t.at desc, t.turn_id limit %(limit)s
