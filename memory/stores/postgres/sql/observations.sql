-- name: columns (the columns of an observation)
o.observation_id, o.session_id, o.kind, o.stable_key, o.statement, o.fact, o.category, o.confidence, o.importance,
o.trust, o.turns, o.found_by, o.memory_id, o.outcome, o.rev, o.at,
muniment.list_positions(%(space)s, o.turns) as positions

-- name: of_session (the observations of a session, in the order of its turns)
select {{columns}} from muniment.observations o
where o.space_id = %(space)s and o.session_id = %(session)s
order by positions, o.rev, o.observation_id limit %(limit)s

-- name: of_memory (the observations from which a memory came, oldest first)
select {{columns}} from muniment.observations o
where o.space_id = %(space)s and o.memory_id = %(memory)s
order by o.rev, o.observation_id

-- name: statements (a page of what all observations say)
select o.observation_id, o.statement from muniment.observations o
where o.space_id = %(space)s and o.observation_id > %(after)s order by o.observation_id limit %(limit)s

-- name: sources (who has read those of the turns of which something was kept, or which a model has read)
select t.turn_id, array(
  select e.source from muniment.extractions e where e.space_id = %(space)s and e.turn_id = t.turn_id) as sources
from muniment.turns t
where t.space_id = %(space)s and t.turn_id = any(%(turns)s) and (t.consumed_rev is not null or exists (
  select from muniment.extractions e where e.space_id = %(space)s and e.turn_id = t.turn_id))

-- name: later_turns (the user's turns of a space that were said after a time, oldest first)
select {{ledger.turn}} from muniment.turns t
where t.space_id = %(space)s and t.role = 'user' and t.kind = 'message' and t.at > %(since)s
order by t.at, t.turn_id limit %(limit)s

-- name: forgotten (the memories that a person has had forgotten since a time)
select {m.memory_columns} from muniment.memories m join muniment.journal j
  on j.space_id = %(space)s and j.memory_id = m.memory_id and j.rev = m.rev
where m.space_id = %(space)s and m.state = 'soft_deleted' and m.updated_at > %(since)s and j.meta ->> 'why' = 'forget'
order by m.updated_at desc, m.memory_id limit %(limit)s
