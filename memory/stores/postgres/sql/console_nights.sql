-- name: pairs (the pairs whose last verdict is of a run, with both memories as they are: merges first, then the closest)
select p.low_id as low, p.high_id as high, p.score::int as score, p.judgement, p.source, p.class as pair_class,
  a.text as first_text, a.state as first_state, a.category as first_category,
  b.text as second_text, b.state as second_state, b.category as second_category
from (
  select f.*, {{place}} as place from muniment.pair_fingerprints f where f.space_id = %(space)s and f.run_id = %(run_id)s
) p
left join muniment.memories a on a.space_id = %(space)s and a.memory_id = p.low_id
left join muniment.memories b on b.space_id = %(space)s and b.memory_id = p.high_id
where %(place)s::int is null
  or (p.place, -p.score, p.low_id, p.high_id) > (%(place)s::int, -%(score)s::int, %(low)s::uuid, %(high)s::uuid)
order by p.place, p.score desc, p.low_id, p.high_id limit %(limit)s

-- name: place (where the verdicts stand in the list)
case judgement when 'same' then 0 when 'supersedes' then 1 when 'unanswered' then 2 else 3 end
