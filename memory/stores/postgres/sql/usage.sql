-- name: reserve (charges a day; no row when the day has reached its budget)
insert into muniment.spend_days as d (space_id, day, tokens, micros)
values (%(space)s, %(day)s, %(tokens)s, %(micros)s)
on conflict (space_id, day) do update set tokens = d.tokens + excluded.tokens, micros = d.micros + excluded.micros
where (%(most_tokens)s::bigint is null or d.tokens < %(most_tokens)s)
  and (%(most_micros)s::bigint is null or d.micros < %(most_micros)s)

-- name: adjust (adds to the charge of a day)
insert into muniment.spend_days as d (space_id, day, tokens, micros)
values (%(space)s, %(day)s, %(tokens)s, %(micros)s)
on conflict (space_id, day) do update set tokens = d.tokens + excluded.tokens, micros = d.micros + excluded.micros

-- name: add_spending (adds a request to the spending of a day, purpose and model)
insert into muniment.spend as s (space_id, day, purpose, model, requests, input_tokens, output_tokens, micros)
values (%(space)s, %(day)s, %(purpose)s, %(model)s, 1, %(input_tokens)s, %(output_tokens)s, %(micros)s)
on conflict (space_id, day, purpose, model) do update set
  requests = s.requests + 1, input_tokens = s.input_tokens + excluded.input_tokens,
  output_tokens = s.output_tokens + excluded.output_tokens, micros = s.micros + excluded.micros

-- name: spending (the spending since a day)
select day, purpose, model, requests, input_tokens, output_tokens, micros from muniment.spend
where space_id = %(space)s and day >= %(since)s order by day desc, purpose, model

-- name: days (the charges of days)
select day, tokens, micros from muniment.spend_days where space_id = %(space)s and day >= %(since)s order by day desc

-- name: facts (how many facts a model extracted for the tenant, read as the keeper)
select coalesce(sum(e.written), 0)::bigint as facts
from muniment.extractions e join muniment.spaces s on s.space_id = e.space_id
where s.tenant_id = %(tenant)s and e.source = 'model' and e.at >= %(since)s

-- name: counts (the operations of a space by day, node, operation and status)
select (ts at time zone 'UTC')::date as day, node, op, status, count(*) as count
from muniment.operations where space_id = %(space)s and ts >= %(since)s
group by 1, 2, 3, 4 order by 1 desc, 2, 3, 4

-- name: extraction_stats (what extraction found and wrote, by source)
select source, count(*) as looks, sum(found) as found, sum(written) as written
from muniment.extractions where space_id = %(space)s and at >= %(since)s group by 1 order by 1

-- name: reasons (why candidates were repaired or refused, most frequent first)
select source, what, reason, count(*) as count
from muniment.extractions cross join lateral (
  select 'repaired' as what, unnest(repaired) as reason union all select 'refused', unnest(refused)
) told
where space_id = %(space)s and at >= %(since)s group by 1, 2, 3 order by 4 desc, 3

-- name: changes (the latest journal lines)
select {{read.entry_columns}} from muniment.journal j {{read.entry_joins}}
where j.space_id = %(space)s and j.ts >= %(since)s and {{read.entry_visible}} order by j.rev desc limit %(limit)s

-- name: legacy (the active memories with a tag)
from muniment.memories m where m.space_id = %(space)s and m.state = 'active' and %(tag)s = any(m.tags)

-- name: confirmed (a later change merged something with it, or somebody said it in a session that is still kept)
(exists (
  select from muniment.journal j
  where j.space_id = %(space)s and j.memory_id = m.memory_id and j.action in ('MERGE', 'UPDATE') and j.node <> 'face')
  or exists (select from muniment.observations o where o.space_id = %(space)s and o.memory_id = m.memory_id))

-- name: legacy_counts (how many there are, and how many of them are confirmed)
select count(*) as total, count(*) filter (where {{confirmed}}) as confirmed {{legacy}}

-- name: legacy_waiting (those that are not confirmed, oldest first)
select {m.memory_columns} {{legacy}} and not {{confirmed}} order by m.created_at, m.memory_id limit %(limit)s
