-- name: end (the latest messages of a session, the latest first; what has no position yet is later than what has one)
select {{ledger.turn}} from muniment.turns t
where t.space_id = %(space)s and t.session_id = %(session)s and {{ledger.spoken}}
order by t.position desc, t.at desc, t.turn_id limit %(limit)s

-- name: said_in (those of the memories that were said in a session)
select m.memory_id from muniment.memories m
where m.space_id = %(space)s and m.memory_id = any(%(memories)s) and {{search.said_in}}

-- name: kept (whether a plan has consumed a turn, or an extraction has found something in it)
(t.consumed_rev is not null or exists (
    select from muniment.extractions e where e.space_id = %(space)s and e.turn_id = t.turn_id and e.found > 0))

-- name: has_kept (whether something was kept of turns of a session)
select exists (
  select from muniment.turns t
  where t.space_id = %(space)s and t.session_id = %(session)s and t.position >= %(since)s and t.position < %(until)s
    and {{kept}}) as yes
