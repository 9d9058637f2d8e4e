-- name: columns (the columns of an observation)
o.observation_id, o.session_id, o.type, o.stable_key, o.statement, o.fact, o.category, o.confidence, o.importance,
o.trust, o.turns, o.positions, o.found_by, o.memory_id, o.outcome, o.rev, o.at

-- name: of_session (the observations of a session, in the order of its turns)
select {{columns}} from muniment.observations o
where o.space_id = %(space)s and o.session_id = %(session)s
order by o.positions, o.rev, o.observation_id limit %(limit)s

-- name: of_memory (the observations from which a memory came, oldest first)
select {{columns}} from muniment.observations o
where o.space_id = %(space)s and o.memory_id = %(memory)s
order by o.rev, o.observation_id

-- name: open_turns (the user's first turns of a session that no model has read)
select {{ledger.turn}} from muniment.turns t
where t.space_id = %(space)s and t.session_id = %(session)s and t.role = 'user' and not exists (
  select from muniment.extractions e
  where e.space_id = %(space)s and e.turn_id = t.turn_id and e.source = 'model')
order by t.at, t.turn_id limit %(limit)s
