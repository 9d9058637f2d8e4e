-- name: append (appends the messages that the session does not have, and returns their ids)
select muniment.append_messages(%(space)s, %(session)s, %(messages)s::jsonb, %(earlier)s, %(latest)s, %(days)s::int,
  %(now)s::timestamptz) as added

-- name: window (the latest messages of a session, the latest first)
select {{ledger.turn}} from muniment.turns t
where t.space_id = %(space)s and t.session_id = %(session)s and t.position >= 0 and t.hash is not null
order by t.position desc limit %(size)s
