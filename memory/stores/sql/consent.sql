-- name: columns
request_id, field, value, decision, memory_id, turns, old, asked_at, expires_at, decided_at, decided_by

-- name: forgotten
exists (select from muniment.memories m
  where m.space_id = %(space)s and m.memory_id = c.memory_id and m.state = 'soft_deleted')

-- name: signal (a waiting request for the value gets one more; one that nobody answered in time is asked anew)
update muniment.consent_requests c set memory_id = %(memory)s,
  turns = case when c.expires_at <= %(at)s then %(turns)s::uuid[]
    else (select array_agg(distinct turn) from unnest(c.turns || %(turns)s::uuid[]) turn) end,
  asked_at = case when c.expires_at <= %(at)s then %(at)s else c.asked_at end,
  expires_at = case when c.expires_at <= %(at)s then %(expires_at)s else c.expires_at end
where c.space_id = %(space)s and c.field = %(field)s and c.decision = 'pending' and lower(c.value) = lower(%(value)s)
returning {{columns}}

-- name: outdate
update muniment.consent_requests c set decision = 'replaced', decided_at = %(at)s, decided_by = 'a newer request'
where c.space_id = %(space)s and c.field = %(field)s and c.decision = 'pending' and lower(c.value) <> lower(%(value)s)
  and c.field <> 'goals'

-- name: propose (what does not wait by now, is not approved, and was not rejected of late)
insert into muniment.consent_requests
  (space_id, request_id, field, value, decision, memory_id, turns, old, asked_at, expires_at)
select %(space)s, %(request)s, %(field)s, %(value)s, 'pending', %(memory)s, %(turns)s,
  (select value from muniment.consent_requests c where space_id = %(space)s and field = %(field)s
     and decision = 'approved' and field <> 'goals' and not {{forgotten}} order by decided_at desc limit 1), %(at)s, %(expires_at)s
where not exists (
  select from muniment.consent_requests c where c.space_id = %(space)s and c.field = %(field)s
    and lower(c.value) = lower(%(value)s)
    and (c.decision = 'pending' or c.decision = 'approved' and not {{forgotten}}
      or c.decision = 'rejected' and c.decided_at > %(quiet)s))
returning {{columns}}

-- name: decide (40001: serialization failure)
with decided as (
  update muniment.consent_requests set decision = %(decision)s, decided_at = %(decided_at)s, decided_by = %(decided_by)s
  where space_id = %(space)s and request_id = %(request)s and decision = 'pending' returning field
), former as (
  update muniment.consent_requests c set decision = 'replaced'
  where c.space_id = %(space)s and c.field = (select field from decided) and c.decision = 'approved'
    and c.field <> 'goals' and %(decision)s::text = 'approved'
)
select coalesce((select count(*) from decided having count(*) > 0), muniment.refuse('40001', 'decided by now'))

-- name: consents
select {{columns}} from muniment.consent_requests
where space_id = %(space)s and (%(decisions)s::text[] is null or decision = any(%(decisions)s))
order by asked_at desc, request_id limit %(limit)s

-- name: profile
select {{columns}} from muniment.consent_requests c
where space_id = %(space)s and decision = 'approved' and not {{forgotten}}
order by array_position(array['preferred_name', 'pronouns', 'city', 'language', 'tone', 'goals'], field), decided_at,
  request_id
