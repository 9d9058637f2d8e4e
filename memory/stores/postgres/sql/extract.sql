-- name: turn
t.turn_id, t.session_id, t.thread_id, t.role, t.actor, t.text, t.at, t.source, t.path, t.tags, t.recalled

-- name: here
select {{turn}},
  array(select e.source from muniment.extractions e where e.space_id = %(space)s and e.turn_id = %(turn)s) as looked
from muniment.turns t where t.space_id = %(space)s and t.turn_id = %(turn)s

-- name: before (what was done with tools is no conversation)
select {{turn}} from muniment.turns t
where t.space_id = %(space)s and t.thread_id = %(thread)s and (t.at, t.turn_id) < (%(at)s, %(turn)s) and t.role <> 'tool'
order by t.at desc, t.turn_id desc limit %(limit)s

-- name: after
select {{turn}} from muniment.turns t
where t.space_id = %(space)s and t.thread_id = %(thread)s and (t.at, t.turn_id) > (%(at)s, %(turn)s) and t.role <> 'tool'
order by t.at, t.turn_id limit %(limit)s

-- name: looked
select max(at) as at from muniment.extractions where space_id = %(space)s and prompt like 'insight-%%'

-- name: latest_turns (of the thread that was spoken in last)
select {{turn}} from muniment.turns t
where t.space_id = %(space)s and t.thread_id is not distinct from
  (select thread_id from muniment.turns where space_id = %(space)s order by at desc limit 1) and t.role <> 'tool'
order by t.at desc, t.turn_id desc limit %(limit)s

-- name: present
select turn_id from muniment.turns where space_id = %(space)s and turn_id = any(%(turns)s)

-- name: worked (the latest of what a person said and of what was done with tools in a thread)
select {{turn}} from muniment.turns t
where t.space_id = %(space)s and t.thread_id = %(thread)s and t.role in ('user', 'tool')
order by t.at desc, t.turn_id desc limit %(limit)s
