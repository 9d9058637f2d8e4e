-- name: turn (the columns of a turn)
t.turn_id, t.session_id, t.thread_id, t.role, t.actor, t.text, t.at, t.source, t.path, t.tags, t.recalled, t.kind, t.payload, t.visible,
  t.position

-- name: spoken (messages alone)
t.role <> 'tool' and t.kind = 'message'

-- name: consumed (those of the turns that a plan has consumed)
select turn_id from muniment.turns
where space_id = %(space)s and turn_id = any(%(turns)s) and consumed_rev is not null

-- name: said_times (when turns were said, by the clock of the database)
select turn_id, said_at from muniment.turns
where space_id = %(space)s and turn_id = any(%(turns)s) and said_at is not null

-- name: existing (those of the turns that are in the ledger)
select turn_id from muniment.turns where space_id = %(space)s and turn_id = any(%(turns)s)

-- name: here (a turn, and the sources that extracted from it)
select {{turn}},
  array(select e.source from muniment.extractions e where e.space_id = %(space)s and e.turn_id = %(turn)s) as sources
from muniment.turns t where t.space_id = %(space)s and t.turn_id = %(turn)s

-- name: before (the latest turns of a thread before a turn, without those of tools, latest first)
select {{turn}} from muniment.turns t
where t.space_id = %(space)s and t.thread_id = %(thread)s and (t.at, t.turn_id) < (%(at)s, %(turn)s)
  and {{spoken}}
order by t.at desc, t.turn_id desc limit %(limit)s

-- name: after (the first turns of a thread after a turn, without those of tools, in order)
select {{turn}} from muniment.turns t
where t.space_id = %(space)s and t.thread_id = %(thread)s and (t.at, t.turn_id) > (%(at)s, %(turn)s)
  and {{spoken}}
order by t.at, t.turn_id limit %(limit)s

-- name: insights_at (when insights were last looked for)
select max(at) as at from muniment.extractions where space_id = %(space)s and prompt like 'insight-%%'

-- name: latest_turns (the latest turns of the thread that has the latest turn of the space, latest first)
select {{turn}} from muniment.turns t
where t.space_id = %(space)s and t.thread_id is not distinct from
  (select thread_id from muniment.turns where space_id = %(space)s order by at desc limit 1) and {{spoken}}
order by t.at desc, t.turn_id desc limit %(limit)s

-- name: work_turns (the latest turns of a thread by a person or a tool, latest first)
select {{turn}} from muniment.turns t
where t.space_id = %(space)s and t.thread_id = %(thread)s and t.role in ('user', 'tool') and t.kind <> 'audit'
order by t.at desc, t.turn_id desc limit %(limit)s

-- name: thread_episodes (the active episodes with the tag that changed since then, latest first)
select {m.memory_columns} from muniment.memories m
where m.space_id = %(space)s and m.state = 'active' and m.category = %(category)s and m.kind = 'episodic'
  and %(tag)s = any(m.tags) and m.updated_at >= %(since)s
order by m.updated_at desc, m.memory_id

-- name: thread_turns (the user's latest turns of a thread that support none of its episodes, latest first)
select {{turn}}
from muniment.turns t
where t.space_id = %(space)s and t.thread_id = %(thread)s and t.role = 'user' and t.kind = 'message' and t.at >= %(since)s
  and not exists (
    select from muniment.memories m
    where m.space_id = %(space)s and m.category = %(category)s and m.kind = 'episodic' and %(tag)s = any(m.tags)
      and m.updated_at >= %(since)s and t.turn_id = any(m.turns))
order by t.at desc, t.turn_id limit %(limit)s

-- name: changes (how many changes these nodes made since then; the index takes the revision before then as a value)
select count(*) as changes from muniment.journal
where space_id = %(space)s and node = any(%(nodes)s) and not meta ? 'hard' and rev > (select coalesce(
  (select rev from muniment.journal where space_id = %(space)s and ts < %(since)s order by rev desc limit 1), 0))

-- name: supported (the active memories that a turn supports)
select memory_id from muniment.memories where space_id = %(space)s and state = 'active' and %(turn)s = any(turns)
