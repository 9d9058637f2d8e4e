-- name: reserve (no row: the day is at its budget already; one statement, so that many at once are counted one by one)
insert into muniment.spend_days as d (space_id, day, tokens, micros)
values (%(space)s, %(day)s, %(tokens)s, %(micros)s)
on conflict (space_id, day) do update set tokens = d.tokens + excluded.tokens, micros = d.micros + excluded.micros
where (%(most_tokens)s::bigint is null or d.tokens < %(most_tokens)s)
  and (%(most_micros)s::bigint is null or d.micros < %(most_micros)s)

-- name: adjust
insert into muniment.spend_days as d (space_id, day, tokens, micros)
values (%(space)s, %(day)s, %(tokens)s, %(micros)s)
on conflict (space_id, day) do update set tokens = d.tokens + excluded.tokens, micros = d.micros + excluded.micros

-- name: book
insert into muniment.spend as s (space_id, day, purpose, model, requests, input_tokens, output_tokens, micros)
values (%(space)s, %(day)s, %(purpose)s, %(model)s, 1, %(input_tokens)s, %(output_tokens)s, %(micros)s)
on conflict (space_id, day, purpose, model) do update set
  requests = s.requests + 1, input_tokens = s.input_tokens + excluded.input_tokens,
  output_tokens = s.output_tokens + excluded.output_tokens, micros = s.micros + excluded.micros

-- name: spent
select day, purpose, model, requests, input_tokens, output_tokens, micros from muniment.spend
where space_id = %(space)s and day >= %(since)s order by day desc, purpose, model

-- name: days
select day, tokens, micros from muniment.spend_days where space_id = %(space)s and day >= %(since)s order by day desc

-- name: facts (of all spaces of the tenant, as the keeper)
select coalesce(sum(e.written), 0)::bigint as facts
from muniment.extractions e join muniment.spaces s on s.space_id = e.space_id
where s.tenant_id = %(tenant)s and e.source = 'model' and e.at >= %(since)s

-- name: counts
select (ts at time zone 'UTC')::date as day, node, op, status, count(*) as count
from muniment.operations where space_id = %(space)s and ts >= %(since)s
group by 1, 2, 3, 4 order by 1 desc, 2, 3, 4

-- name: yields
select source, count(*) as looks, sum(found) as found, sum(written) as written
from muniment.extractions where space_id = %(space)s and at >= %(since)s group by 1 order by 1

-- name: reasons (why candidates were repaired or refused, most often first)
select source, what, reason, count(*) as count
from muniment.extractions cross join lateral (
  select 'repaired' as what, unnest(repaired) as reason union all select 'refused', unnest(refused)
) told
where space_id = %(space)s and at >= %(since)s group by 1, 2, 3 order by 4 desc, 3

-- name: changes
select {{read.told}} from muniment.journal j {{read.told_of}}
where j.space_id = %(space)s and j.ts >= %(since)s and {{read.there}} order by j.rev desc limit %(limit)s
