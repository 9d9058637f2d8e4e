-- name: append (appends the messages that the session does not have, and returns their ids)
select muniment.append_messages(%(space)s, %(session)s, %(messages)s::jsonb, %(earlier)s, %(latest)s, %(days)s::int,
  %(now)s::timestamptz) as added

-- name: window (enters the space and lists the latest messages of a session, the latest first; fails in another role)
with entered as materialized (
  select set_config('app.spaces', array[%(space)s]::text, true) is not null and set_config('app.categories', '*', true) is not null
    and (current_user = 'muniment_app' or muniment.refuse('MU003', current_user::text) is null) as ok
)
select {{ledger.turn}} from muniment.turns t
where t.space_id = %(space)s and t.session_id = %(session)s and t.position >= 0 and t.hash is not null
  and (select ok from entered)
order by t.position desc limit %(size)s
