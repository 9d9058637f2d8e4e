-- name: version (what changes with each write: the revision, and when the space began)
select s.rev, s.created_at as founded_at from muniment.spaces s where s.space_id = %(space)s

-- name: counts (how much of each kind waits)
select
  (select count(*) from muniment.consent_requests c
   where c.space_id = %(space)s and c.decision = 'pending' and c.expires_at > %(at)s) as consent,
  (select count(*) from muniment.memories m
   where m.space_id = %(space)s and m.state = 'pending' and m.kind <> 'procedural') as instruction,
  (select count(*) from muniment.memories m
   where m.space_id = %(space)s and m.state = 'pending' and m.kind = 'procedural') as skill,
  (select count(*) from muniment.memories m where {{is_doubtful}}) as contradiction,
  (select count(distinct (p.type, p.key)) from muniment.projections p
   where p.space_id = %(space)s and p.status = 'conflict') as conflict

-- name: is_doubtful (whether a memory perhaps replaces one that is active)
m.space_id = %(space)s and m.state = 'active' and m.tags <> '{}' and exists (
  select from unnest(m.tags) tag join muniment.memories o on o.space_id = %(space)s and o.state = 'active'
    and o.memory_id = case when starts_with(tag, %(mark)s) then substr(tag, length(%(mark)s) + 1)::uuid end)

-- name: doubtful (such memories, the latest change first)
select {m.memory_columns} from muniment.memories m where {{is_doubtful}} order by m.rev desc, m.memory_id limit %(limit)s

-- name: turns (some turns, oldest first)
select {{ledger.turn}} from muniment.turns t
where t.space_id = %(space)s and t.turn_id = any(%(turns)s) order by t.at, t.turn_id

-- name: decisions (what was decided and taken back lately, newest first)
select {{read.entry_columns}} from muniment.journal j {{read.entry_joins}}
where j.space_id = %(space)s
  and j.rev > (select s.rev - %(recent)s from muniment.spaces s where s.space_id = %(space)s)
  and j.meta ?| array['decision', 'undone']
  and (%(decision)s::text is null or %(decision)s in (j.meta ->> 'decision', j.meta ->> 'undone'))
  and {{read.entry_visible}}
order by j.rev desc limit %(limit)s
