-- name: columns (the columns of a request)
request_id, field, value, decision, memory_id, turns, old, asked_at, expires_at, decided_at, decided_by

-- name: forgotten (whether the memory of a request is forgotten; a reader of the profile may not see the memory)
coalesce((select j.action <> 'RESTORE' from muniment.journal j
  where j.space_id = %(space)s and j.memory_id = c.memory_id and j.action in ('DELETE', 'TTL', 'RESTORE')
  order by j.rev desc limit 1), false)

-- name: forgotten_then (the same at a revision)
coalesce((select j.action <> 'RESTORE' from muniment.journal j
  where j.space_id = %(space)s and j.memory_id = c.memory_id and j.action in ('DELETE', 'TTL', 'RESTORE')
    and j.rev <= %(as_of)s
  order by j.rev desc limit 1), false)

-- name: add_support (adds turns to the pending request for a value; an expired one starts anew)
update muniment.consent_requests c set memory_id = %(memory)s,
  turns = case when c.expires_at <= %(at)s then %(turns)s::uuid[]
    else (select array_agg(distinct turn) from unnest(c.turns || %(turns)s::uuid[]) turn) end,
  asked_at = case when c.expires_at <= %(at)s then %(at)s else c.asked_at end,
  expires_at = case when c.expires_at <= %(at)s then %(expires_at)s else c.expires_at end
where c.space_id = %(space)s and c.field = %(field)s and c.decision = 'pending' and lower(c.value) = lower(%(value)s)
returning {{columns}}

-- name: replace_outdated (closes pending requests for another value of the field)
update muniment.consent_requests c set decision = 'replaced', decided_at = %(at)s, decided_by = 'a newer request'
where c.space_id = %(space)s and c.field = %(field)s and c.decision = 'pending' and lower(c.value) <> lower(%(value)s)
  and c.field <> 'goals'

-- name: propose (inserts a request unless one is pending, approved, or was rejected lately)
insert into muniment.consent_requests
  (space_id, request_id, field, value, decision, memory_id, turns, old, asked_at, expires_at)
select %(space)s, %(request)s, %(field)s, %(value)s, 'pending', %(memory)s, %(turns)s,
  (select value from muniment.consent_requests c where space_id = %(space)s and field = %(field)s
     and decision = 'approved' and field <> 'goals' and not {{forgotten}} order by decided_at desc limit 1), %(at)s,
       %(expires_at)s
where not exists (
  select from muniment.consent_requests c where c.space_id = %(space)s and c.field = %(field)s
    and lower(c.value) = lower(%(value)s)
    and (c.decision = 'pending' or c.decision = 'approved' and not {{forgotten}}
      or c.decision = 'rejected' and c.decided_at > %(quiet)s))
returning {{columns}}

-- name: decide (decides a pending request; fails with 40001 (serialization failure) when it was decided before)
with decided as (
  update muniment.consent_requests set decision = %(decision)s, decided_at = %(decided_at)s, decided_by = %(decided_by)s
  where space_id = %(space)s and request_id = %(request)s and decision = 'pending' returning field
), former as (
  update muniment.consent_requests c set decision = 'replaced'
  where c.space_id = %(space)s and c.field = (select field from decided) and c.decision = 'approved'
    and c.field <> 'goals' and %(decision)s::text = 'approved'
)
select coalesce((select count(*) from decided having count(*) > 0), muniment.refuse('40001', 'decided by now'))

-- name: reopen (lets a decided request wait again, and the value hold that it replaced; fails with 40001 when it cannot)
with former as (
  select c.field, c.decision, c.decided_at from muniment.consent_requests c
  where c.space_id = %(space)s and c.request_id = %(request)s and c.decision in ('approved', 'rejected')
), reopened as (
  update muniment.consent_requests c
  set decision = 'pending', decided_at = null, decided_by = null, expires_at = %(expires_at)s
  where c.space_id = %(space)s and c.request_id = %(request)s and exists (select from former) returning c.field
), restored as (
  update muniment.consent_requests c set decision = 'approved'
  where c.space_id = %(space)s and c.request_id = (
    select r.request_id from muniment.consent_requests r join former f on f.field = r.field
    where r.space_id = %(space)s and r.decision = 'replaced' and r.decided_by is distinct from 'a newer request'
      and r.field <> 'goals' and f.decision = 'approved' and r.decided_at <= f.decided_at
    order by r.decided_at desc, r.request_id limit 1)
)
select coalesce((select count(*) from reopened having count(*) > 0), muniment.refuse('40001', 'decided by now'))

-- name: consents (the requests with one of these decisions, newest first)
select {{columns}} from muniment.consent_requests
where space_id = %(space)s and (%(decisions)s::text[] is null or decision = any(%(decisions)s))
order by asked_at desc, request_id limit %(limit)s

-- name: in_order (the order of the profile's fields)
order by array_position(array['preferred_name', 'pronouns', 'city', 'language', 'tone', 'goals'], field), decided_at,
  request_id

-- name: profile (the approved requests)
select {{columns}} from muniment.consent_requests c
where space_id = %(space)s and decision = 'approved' and not {{forgotten}}
  and not ({{search.has_limits}} and muniment.has_ended(c.space_id, c.memory_id, null, %(at)s::timestamptz))
{{in_order}}

-- name: profile_then (the requests that were approved at a revision; a field has one value, but for goals)
select {{columns}} from (
  select distinct on (c.field, case when c.field = 'goals' then c.request_id end) c.*
  from muniment.consent_requests c
  join muniment.journal j on j.space_id = %(space)s and j.memory_id = c.memory_id and j.rev <= %(as_of)s
    and j.meta @> jsonb_build_object('consent', 'approved', 'field', c.field, 'value', c.value)
  where c.space_id = %(space)s
    and (c.decision in ('approved', 'replaced') or j.meta ->> 'decision' = c.request_id::text)  -- it may be undone since
    and not exists (
      select from muniment.journal u where u.space_id = %(space)s and u.memory_id = c.memory_id
        and u.rev > j.rev and u.rev <= %(as_of)s and u.meta ->> 'undone' = c.request_id::text)
  order by c.field, case when c.field = 'goals' then c.request_id end, j.rev desc
) c
where not {{forgotten_then}}
  and not ({{search.has_limits}} and muniment.has_ended(c.space_id, c.memory_id, %(as_of)s, %(at)s::timestamptz))
{{in_order}}
