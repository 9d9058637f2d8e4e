-- name: active (the rows that a consolidation compares: a procedure has no duplicates, and a resource states all of its own)
m.space_id = %(space)s and m.state = 'active' and m.kind <> 'procedural' and not (m.trust = 'document' and m.source is not null)
  and (m.embedding_model = %(model)s or m.next_model = %(model)s)

-- name: survey (S-37 to S-40: the nearest pairs of a bounded pool, two rows a pair, pairs yet to check first)
with space as materialized (
  select s.rev from muniment.spaces s where s.space_id = %(space)s
), changed as materialized (
  select m.memory_id, m.rev from muniment.memories m
  where {{active}} and m.rev > %(since)s order by m.rev limit greatest(%(pool)s / 2, 1)
), retrieved as materialized (
  select memory_id from (
    select m.memory_id, row_number() over (order by m.access_count desc, m.last_accessed_at desc, m.memory_id) as place,
      count(*) over () as n
    from muniment.memories m where {{active}} and m.access_count > 0
  ) r where place <= ceil(n * %(retrieved)s::float8)
), pool as materialized (
  select {{compared}} from muniment.memories m
  where {{active}} and (m.updated_at >= %(recent)s or m.importance >= %(importance)s
    or m.memory_id in (select memory_id from retrieved) or m.memory_id in (select memory_id from changed))
  order by (m.memory_id in (select memory_id from changed)) desc, m.updated_at desc, m.memory_id
  limit %(pool)s
), partner as materialized (
  select {{compared}} from muniment.memories m
  where {{active}} and m.updated_at >= %(partners)s order by m.updated_at desc, m.memory_id limit %(most)s
), looked as materialized (
  select f.low_id, f.high_id, f.score::int as score, f.source from muniment.pair_fingerprints f
  where f.space_id = %(space)s and f.checked_at > %(checked)s
    and (f.judgement <> 'unanswered' or f.tries >= %(tries)s or f.source = 'rules' and not %(asks)s)
), met as (
  select p.memory_id as a, c.memory_id as b, c.sim, c.checked
  from pool p cross join lateral (
    select x.memory_id, x.sim,
      (least(p.memory_id, x.memory_id), greatest(p.memory_id, x.memory_id), round(x.sim * 100)::int)
        in (select low_id, high_id, score from looked)
      or (least(p.memory_id, x.memory_id), greatest(p.memory_id, x.memory_id))
        in (select low_id, high_id from looked where source = 'person') as checked
    from (
      select c.memory_id, c.words, c.counted, c.dated, c.asking, c.naming, p.odd or c.odd as odd,
        least(case when p.odd or c.odd then 1 - (c.words <=> p.words) else -(c.vector <#> p.vector) end, 1) as sim
      from partner c where c.kind = p.kind and c.category = p.category and c.memory_id <> p.memory_id
        and c.place is not distinct from p.place
      offset 0
    ) x
    where x.sim >= case when x.odd then %(worded)s::float8 else %(fallback)s::float8 end
      and ((p.counted and x.counted)
        or -(x.words <#> p.words) - x.dated * p.dated - x.asking * p.asking - x.naming * p.naming > 0.001)
    order by checked, x.sim desc, x.memory_id limit %(closest)s
  ) c
), pair as (
  select least(a, b) as low, greatest(a, b) as high, max(sim) as sim, bool_and(checked) as checked
  from met group by 1, 2
), found as materialized (
  select low, high, sim, checked, row_number() over (order by checked, sim desc, low, high) as n
  from pair order by n limit %(limit)s
)
select h.upto, f.*
from (
  select case when (select count(*) from changed) < greatest(%(pool)s / 2, 1) then coalesce((select rev from space), 0)
      else (select max(rev) from changed) end as upto
) h left join (
  select one.n, one.sim, one.checked, coalesce((
      select f.tries from muniment.pair_fingerprints f where f.space_id = %(space)s
        and (f.low_id, f.high_id, f.score) = (one.low, one.high, round(one.sim * 100)::int)), 0) as tries,
          {{read.said}}, {m.memory_columns}
  from found one cross join lateral unnest(array[one.low, one.high]) id
  cross join lateral (select * from muniment.memories m where m.space_id = %(space)s and m.memory_id = id limit 1) m
) f on true
order by f.n, f.memory_id

-- name: compared (a memory as it is compared; `odd`: the embedder does not know its script, so the cosine says nothing)
m.memory_id, m.kind, m.category,
  case m.reach when 'project' then 'project:' || m.project_id when 'session' then 'session:' || m.session_id end as place,
  case when m.embedding_model = %(model)s then m.embedding else m.next_embedding end as vector,
    m.words, %(foreign)s and octet_length(m.text) > length(m.text)
      and m.text ~ '[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]' as odd, m.text ~ '[0-9]' as counted,
    -(m.words <#> '{1:1}/1000000000') as dated, -(m.words <#> '{2:1}/1000000000') as asking,
    -(m.words <#> '{3:1}/1000000000') as naming

-- name: interrupt_expired (ends the space's runs whose lease is over)
update muniment.consolidation_runs set status = case when status = 'running' then 'interrupted' else status end,
  ended_at = greatest(now(), started_at), asked = null
where space_id = %(space)s and ended_at is null and leased_until < now() and status <> 'waiting'

-- name: interrupt (ends a run that does not wait for a batch)
update muniment.consolidation_runs set status = 'interrupted', ended_at = greatest(%(at)s, started_at), asked = null
where space_id = %(space)s and run_id = %(run_id)s and ended_at is null and status <> 'waiting'

-- name: begin (inserts a run and returns how far earlier ones compared; no row beside a run under way)
insert into muniment.consolidation_runs (space_id, run_id, status, started_at, leased_until, from_rev, surveyed_rev)
select %(space)s, %(run_id)s, %(status)s, %(started_at)s, now() + %(lease)s, %(from_rev)s, coalesce((
  select max(r.surveyed_rev) from muniment.consolidation_runs r where r.space_id = %(space)s), 0)
from muniment.spaces s where s.space_id = %(space)s
on conflict (space_id) where ended_at is null do nothing
returning surveyed_rev

-- name: save (updates a run that is under way; no row when it is not)
update muniment.consolidation_runs set status = %(status)s, ended_at = %(ended_at)s, leased_until = now() + %(lease)s,
  to_rev = %(to_rev)s, surveyed_rev = %(surveyed)s, upto_rev = %(upto)s, model = %(model)s, prompt = %(prompt)s,
  seen = %(seen)s, checked = %(checked)s, same = %(same)s, superseded = %(superseded)s, distinct_pairs = %(distinct)s,
  outdated = %(outdated)s, unanswered = %(unanswered)s, shelved = %(shelved)s, requests = %(requests)s,
  input_tokens = %(input_tokens)s, output_tokens = %(output_tokens)s, micros = %(micros)s,
  duplicates_before = %(duplicates_before)s, duplicates_after = %(duplicates_after)s, classes = %(classes)s::jsonb, batch = %(batch)s,
  asked = %(asked)s::jsonb, reason = %(reason)s, handed_at = %(handed)s
where space_id = %(space)s and run_id = %(run_id)s and ended_at is null and (status = 'waiting') = %(waited)s

-- name: fingerprint (inserts what was decided of pairs; any number of tries on one day (UTC) is one try)
insert into muniment.pair_fingerprints (
  space_id, low_id, high_id, score, judgement, source, class, run_id, checked_at, tries)
select %(space)s, f.low_id, f.high_id, round(f.sim * 100)::int, f.judgement, f.source, f.class, %(run_id)s, %(at)s,
  (f.judgement = 'unanswered' and f.source = 'model')::int
from jsonb_to_recordset(%(findings)s::jsonb)
  f (low_id uuid, high_id uuid, sim float8, judgement text, source text, class text)
on conflict (space_id, low_id, high_id, score) do update set
  judgement = excluded.judgement, source = excluded.source, class = excluded.class, run_id = excluded.run_id, checked_at = excluded.checked_at,
  tries = excluded.tries * greatest(1, pair_fingerprints.tries + (
    (pair_fingerprints.checked_at at time zone 'UTC')::date <> (excluded.checked_at at time zone 'UTC')::date)::int)
returning judgement, tries

-- name: shelve (adds to a run's count of shelved pairs)
update muniment.consolidation_runs set shelved = shelved + %(more)s
where space_id = %(space)s and run_id = %(run_id)s returning shelved

-- name: runs (the runs of a space: the one under way first, whatever the clock says)
select run_id as id, status, started_at, ended_at, leased_until, from_rev, to_rev, surveyed_rev as surveyed,
  upto_rev as upto, model, prompt, seen, checked, same, superseded, distinct_pairs as distinct, outdated, unanswered,
  shelved, requests, input_tokens, output_tokens, micros, duplicates_before, duplicates_after, classes,
  batch, handed_at as handed, asked, reason
from muniment.consolidation_runs
where space_id = %(space)s and (%(run_id)s::uuid is null or run_id = %(run_id)s)
order by ended_at is not null, started_at desc, run_id limit %(limit)s

-- name: compared_revision (the revision up to which runs compared the space, and whether others changed it since)
select c.upto, exists (
    select from muniment.journal j where j.space_id = %(space)s and j.rev > c.upto
      and not (j.node = 'worker' and j.meta ? 'run')) as changed
from (select coalesce(max(surveyed_rev), 0) as upto from muniment.consolidation_runs where space_id = %(space)s) c

-- name: checked_pairs (how many pairs were checked within a day of a time; a clock may have been ahead)
select count(*) as checked from muniment.pair_fingerprints
where space_id = %(space)s and checked_at >= %(since)s and checked_at < %(since)s::timestamptz + interval '1 day'
  and source <> 'person'

-- name: run_changes (what a run changed: now and before; `alone`: nothing else stands in the way of taking it back)
with touched as materialized (
  select j.memory_id, min(j.rev) as first,
    jsonb_agg(j.meta || jsonb_build_object('rev', j.rev) order by j.rev) as metas
  from muniment.journal j where j.space_id = %(space)s and j.meta ->> 'run' = %(run_id)s::text and j.action = 'MERGE'
  group by j.memory_id
)
select 'now' as part, t.metas, not exists (
    select from muniment.journal j
    where j.space_id = %(space)s and j.memory_id = t.memory_id and j.rev > t.first
      and j.meta ->> 'run' is distinct from %(run_id)s::text
      and not exists (
        select from muniment.journal u
        where u.space_id = %(space)s and u.memory_id = t.memory_id and u.rev >= j.rev and u.action = 'RESTORE'
          and u.meta ->> 'undo' = coalesce(j.meta ->> 'undo', j.meta ->> 'run'))) as alone, {m.memory_columns}
from touched t join muniment.memories m on m.space_id = %(space)s and m.memory_id = t.memory_id
union all
select 'before', null, v.stable_key is null or not exists (
    select from muniment.memories o where o.space_id = %(space)s and o.state = 'active'
      and o.stable_key = v.stable_key and o.memory_id <> v.memory_id
      and (o.reach, case o.reach when 'project' then o.project_id when 'session' then o.session_id end) is not distinct from
        (v.reach, case v.reach when 'project' then v.project_id when 'session' then v.session_id end)),
  {v.version_columns}
from touched t join muniment.memory_versions v
  on v.space_id = %(space)s and v.memory_id = t.memory_id and v.to_rev = t.first

-- name: delete_edge (deletes an edge that is as a run left it)
delete from muniment.relations
where space_id = %(space)s and from_id = %(low)s and to_id = %(high)s and strength = %(now)s::real

-- name: restore_edge (gives an edge that is as a run left it its former strength)
update muniment.relations set strength = %(before)s
where space_id = %(space)s and from_id = %(low)s and to_id = %(high)s and strength = %(now)s::real

-- name: mark_undone (marks a run that is over as undone)
update muniment.consolidation_runs set status = 'undone'
where space_id = %(space)s and run_id = %(run_id)s and ended_at is not null and status <> 'undone'

-- name: separate (notes each pair of a group as different at any distance)
insert into muniment.pair_fingerprints (space_id, low_id, high_id, score, judgement, source, run_id, checked_at)
select %(space)s, a.id, b.id, 0, 'different', 'person', %(run_id)s, %(at)s
from unnest(%(ids)s::uuid[], %(groups)s::int[]) a (id, n)
join unnest(%(ids)s::uuid[], %(groups)s::int[]) b (id, n) on b.n = a.n and a.id < b.id
on conflict (space_id, low_id, high_id, score) do update set
  judgement = excluded.judgement, source = excluded.source, run_id = excluded.run_id, checked_at = excluded.checked_at,
    tries = 0

-- name: transfer_accesses (writes the access counts of merged memories; fails when one was retrieved meanwhile)
with known as (
  select * from jsonb_to_recordset(%(known)s::jsonb) k
    (memory_id uuid, had int, was timestamptz, count int, at timestamptz)
), done as (
  update muniment.memories m set access_count = k.count, last_accessed_at = k.at
  from known k
  where m.space_id = %(space)s and m.memory_id = k.memory_id and m.access_count = k.had
    and m.last_accessed_at is not distinct from k.was
  returning m.memory_id
)
select muniment.refuse('40001', 'retrieved meanwhile') where (select count(*) from done) < (select count(*) from known)

-- name: return_accesses (gives access counts back; what was counted since stays)
update muniment.memories m set access_count = greatest(m.access_count - g.count, 0),
  last_accessed_at = case when m.last_accessed_at is distinct from g.at then m.last_accessed_at else g.before end
from jsonb_to_recordset(%(got)s::jsonb) g (id uuid, count int, at timestamptz, before timestamptz)
where m.space_id = %(space)s and m.memory_id = g.id
