-- name: met (candidates of each channel from the space's own indexes: the search goes on among these)
changed as materialized (
  select distinct j.memory_id from muniment.journal j
  where j.space_id = %(space)s and (select ok from entered)
    and j.rev > (select indexed_rev from space) and j.rev <= (select rev from space)
), late as materialized (
  select m.memory_id, m.words, {speaker} as speaker{own_late}{dated_late}
  from changed c cross join lateral (
    select * from muniment.memories where space_id = %(space)s and memory_id = c.memory_id offset 0) m
  where m.state = 'active' and m.category = any(%(categories)s){narrowed}
), posted as materialized (
  select p.dimension, p.df, p.memories, p.weights from muniment.postings p
  where p.space_id = %(space)s and (select ok from entered) and p.category = any(%(categories)s) and p.dimension = any(
    array(select 0 union all select * from unnest(%(words)s::int[])
      union all select muniment.speaker_dimension(name) from unnest(%(speakers)s::text[]) name
      {own_posted} {dated_posted}))
), list as materialized (
  select t.n, dimension, p.df, p.memories, p.weights from posted p
    join unnest(%(words)s::int[], %(of_term)s::bigint[]) t (dimension, n) using (dimension)
), speaking as materialized (
  select t.name, p.df, p.memories from posted p join unnest(%(speakers)s::text[]) t (name)
    on p.dimension = muniment.speaker_dimension(t.name)
), fresh as materialized (
  select l.memory_id, t.n, -(l.words <#> t.unit) as weight from late l cross join term t where l.words <#> t.unit < 0
), heard as materialized (
  select n, sum(df) as df from (
    select n, df from list
    union all
    select n, 1 from fresh
    union all
    select n, count(distinct memory_id) - count(*) from list cross join unnest(memories) memory_id
    where n in (select n from list group by n having count(distinct dimension) > 1) group by n
  ) d group by n
), size as materialized (
  select coalesce(sum(df), 0) + (select count(*) from late) as n from posted where dimension = 0
), chosen as materialized (
  select n, idf from (
    select h.n, ln(1 + (greatest(s.n, h.df) + %(background)s - h.df + 0.5::float8) / (h.df + 0.5::float8)) as idf,
      sum(h.df) over (order by h.df, h.n) as total, row_number() over (order by h.df, h.n) as place
    from heard h cross join size s
  ) o where total <= {most} or place = 1
), hit as materialized (
  select memory_id, sum(idf * weight) as score from (
    select memory_id, idf, weight from (
      select idf, unnest(memories[:{most}]) as memory_id, unnest(weights[:{most}]) as weight from list join chosen
        using (n)) u
    where memory_id not in (select memory_id from changed)
    union all
    select memory_id, idf, weight from fresh join chosen using (n)
  ) e group by memory_id
), {own_lists}{dated_lists}near as materialized (
  select {looked} from muniment.memories m
  where m.space_id = {at} and (select ok from entered) and m.state = 'active' and m.embedding_model = {model}
    and m.category = any(%(categories)s){narrowed}
    and (select set_config('hnsw.ef_search', greatest(200, least(400, n / 100))::int::text, true)
      || set_config('hnsw.max_scan_tuples', greatest(2 * {wide}, n / 4)::int::text, true)
        from size) is not null {dated_near}
  order by m.embedding::halfvec({dimensions}) <#> %(vector)s limit {wide}
), met as materialized (
  (select h.memory_id from (select memory_id, score from hit order by score desc) h{passing}
   order by h.score desc fetch first {wide} rows with ties)
  union
  select u.memory_id from speaking s cross join unnest(s.memories) u (memory_id)
  where (select sum(df) from speaking) <= {few}
  union
  select memory_id from late where speaker is not null {dated_late_met} {own_met} {dated_met}{watched}
),

-- name: passing (without a filter every posting passes)
 cross join lateral (
     select from muniment.memories m where m.space_id = %(space)s and m.memory_id = h.memory_id{narrowed} offset 0) m

-- name: own_late (whether the memory is about the user)
, {{search.of_user}} as own

-- name: own_posted (adds the list of memories about the user)
union all select {own}

-- name: own_lists (the memories about the user, and those with a word that tells what the query asks for)
own as materialized (
  select p.df, p.memories from posted p where p.dimension = {own}
), hinted as materialized (
  select unnest(memories[:{most}]) as memory_id from (
    select memories, sum(df) over (order by df, dimension, category) as total,
      row_number() over (order by df, dimension, category) as place
    from muniment.postings p
    where p.space_id = %(space)s and (select ok from entered) and p.category = any(%(categories)s)
      and p.dimension = any(%(hints)s) and (select sum(df) from own) > {few}) o
  where total <= {most} or place = 1
),

-- name: own_met (adds them: all, when they are few)
 or own
  union
  select u.memory_id from own cross join unnest(own.memories) u (memory_id) where (select sum(df) from own) <= {few}
  union
  (select h.memory_id from (
     select memory_id, count(*) as score from hinted where memory_id in (select unnest(memories) from own)
       group by memory_id) h{passing}
   order by h.score desc, h.memory_id limit {wide})

-- name: dated_late (whether the memory is of a period of the query)
, 0{{search.timely}} > 0 as timely

-- name: dated_posted (adds the list of days)
 union all select {dated}

-- name: dated_lists (the memories of the days in and near the periods of the query)
dated as materialized (
  select p.df, p.memories from unnest(%(since)s, %(until)s) period (since, until) cross join lateral (
    select df, memories from muniment.postings
    where space_id = %(space)s and (select ok from entered) and category = any(%(categories)s)
      and dimension between {days} + floor((since - %(before)s) / 86400)::int
        and {days} + floor((until + %(after)s) / 86400)::int
    offset 0) p
),

-- name: dated_near (not when many are of these days, or no days are listed: then the space is scanned)
 and (select coalesce(sum(df), 0) from dated) <= {few} and exists (select from posted where dimension = {dated})

-- name: dated_late_met (adds changed memories of a period)
 or timely

-- name: dated_met (adds them)
union
  select u.memory_id from dated cross join unnest(dated.memories) u (memory_id)
    where (select sum(df) from dated) <= {few}

-- name: base (the nearest by vector, and the other candidates)
select * from near
  union all
  select {looked} from met c cross join lateral (
    select * from muniment.memories where space_id = %(space)s and memory_id = c.memory_id offset 0) m
  where c.memory_id not in (select memory_id from near) and {{search.scoped}}{narrowed}

-- name: scope (how many memories there are, and which words of the query name a speaker)
select (select n from size) as n, null::float8 as mean, null::float8 as spread, count(name) = 1 as one_speaker,
  array_agg(name) filter (where name is not null) as speakers
  from (select name from speaking union select speaker from late where speaker is not null) s

-- name: df (how many memories have each term)
heard

-- name: reached (whether the filters left enough: else the space is searched as a small one)
(select count(*) from near) >= {wide} and (select indexed from space)

-- name: index_state (what an index would be of; `elsewhere`: a switch is not cleaned; `known`: the lists exist)
select s.rev, s.used as model, s.indexed_model, s.indexed_rev,
  exists (select from muniment.postings p where p.space_id = %(space)s and p.dimension = %(own)s)
    and exists (select from muniment.postings p where p.space_id = %(space)s and p.dimension = %(dated)s) as known,
  (select count(*) from muniment.memories m where m.space_id = %(space)s and m.state = 'active') as active,
  (select vector_dims(m.embedding) from muniment.memories m
   where m.space_id = %(space)s and m.state = 'active' and m.embedding_model = s.used limit 1) as dimensions,
  exists (select from muniment.memories m where m.space_id = %(space)s and m.state = 'active'
    and m.embedding_model not in (s.used, '')) as elsewhere
from (select *, muniment.find_model(own.model, own.tenant_id) as used from muniment.spaces own) s where s.space_id = %(space)s

-- name: lock_space (lets an erasure wait for the lists, or the lists for it)
select from muniment.spaces where space_id = %(space)s for key share

-- name: delete_lists (deletes the lists of a space)
delete from muniment.postings where space_id = %(space)s

-- name: insert_lists (the lists of words, speakers, days, of what is about the user, and of all by category)
insert into muniment.postings (space_id, dimension, category, df, memories, weights)
select %(space)s, e.dimension, e.category, count(*), array_agg(e.memory_id order by e.weight desc, e.memory_id),
  array_agg(e.weight order by e.weight desc, e.memory_id)
from (
  select m.memory_id, m.category, split_part(w, ':', 1)::int as dimension, split_part(w, ':', 2)::real as weight
  from muniment.memories m cross join string_to_table(btrim(split_part(m.words::text, '/', 1), '{}'), ',') w
  where m.space_id = %(space)s and m.state = 'active' and w <> ''
  union all
  select m.memory_id, m.category, muniment.speaker_dimension(lower(m.actor_id)), 1 from muniment.memories m
  where m.space_id = %(space)s and m.state = 'active' and m.actor_id is not null
  union all
  select m.memory_id, m.category, {{day}}, 1 from muniment.memories m
  where m.space_id = %(space)s and m.state = 'active' and m.event_time is not null
) e group by e.dimension, e.category
union all
select %(space)s, unnest(array[0, %(dated)s]), category, count(*), '{}', '{}' from muniment.memories
where space_id = %(space)s and state = 'active' group by category
union all
select %(space)s, %(own)s, category, count(*) filter (where own),
  coalesce(array_agg(memory_id) filter (where own), '{}'),
  coalesce(array_agg(1::real) filter (where own), '{}')
from (select m.memory_id, m.category, {{search.of_user}} as own from muniment.memories m
      where m.space_id = %(space)s and m.state = 'active') o group by category
returning dimension

-- name: day (the list of a day)
%(days)s + floor(date_part('epoch', m.event_time) / 86400)::int

-- name: mark (notes the revision and model of the lists)
update muniment.spaces set indexed_model = %(model)s, indexed_rev = %(rev)s where space_id = %(space)s

-- name: space_indexes (the indexes of one space, with those that an interrupted build has left)
select c.relname as name, i.indisvalid as valid from pg_catalog.pg_index i join pg_catalog.pg_class c
  on c.oid = i.indexrelid
where i.indrelid = 'muniment.memories'::regclass and starts_with(c.relname, %(prefix)s)

-- name: try_lock (whether this process builds indexes; the transaction is idle meanwhile)
select set_config('idle_in_transaction_session_timeout', '0', true),
  pg_try_advisory_xact_lock(hashtext('muniment index')) as mine

-- name: analyze (measures tables that have just been filled)
analyze muniment.memories (space_id, memory_id, state, category), muniment.postings,
  muniment.journal (space_id, rev, memory_id)

-- name: count_indexes (how many spaces have an index, and whether who has logged in may build one)
select count(i.indexrelid) as indexes, pg_has_role(session_user, t.relowner, 'USAGE') as may_build
from pg_catalog.pg_class t left join (pg_catalog.pg_index i join pg_catalog.pg_class c
  on c.oid = i.indexrelid and starts_with(c.relname, 'memories_near_')) on i.indrelid = t.oid
where t.oid = 'muniment.memories'::regclass group by t.relowner

-- name: spaces_to_index (the spaces whose indexes may have to be built, rebuilt or dropped; what is deleted softly counts)
select tenant_id, owner_id, owner_type from muniment.spaces s
where case when indexed_model is null then %(room)s and rev >= %(least)s
    and (select count(*) from muniment.memories m where m.space_id = s.space_id) >= %(least)s
  else indexed_model <> muniment.find_model(model, tenant_id) or rev - indexed_rev > greatest(%(some)s, %(share)s * rev) end
order by rev desc, space_id
