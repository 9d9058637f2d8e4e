-- name: snapshot (begins a transaction that sees one snapshot)
begin isolation level repeatable read, read only

-- name: begin (begins a transaction)
begin

-- name: commit (commits it)
commit

-- name: enter (enters a space in the application's role, with the allowed categories)
select muniment.enter_space(%(space)s, %(allowed)s), set_config('role', 'muniment_app', true)

-- name: enter_shared (enters a space that is shared with who asks, or none, and says which)
select muniment.enter_shared(%(wanted)s, %(readers)s, %(tenant)s, %(allowed)s) as told

-- name: rev (the revision of the space)
select coalesce((select rev from muniment.spaces where space_id = %(space)s), 0) as rev

-- name: get (a memory)
select {m.memory_columns} from muniment.memories m where m.space_id = %(space)s and m.memory_id = %(memory_id)s

-- name: get_then (a memory at a revision)
select {m.memory_columns} from {{search.then}} where m.space_id = %(space)s and m.memory_id = %(memory_id)s

-- name: list (a page of memories)
select {m.memory_columns} from muniment.memories m where {{listed}}{narrowed} {{paged}}

-- name: list_then (a page of memories at a revision)
select {m.memory_columns} from {{search.then}} where {{listed}}{narrowed} {{paged}}

-- name: total (how many memories a list has)
select count(*) as total from muniment.memories m where {{listed}}{narrowed}

-- name: total_then (the same at a revision)
select count(*) as total from {{search.then}} where {{listed}}{narrowed}

-- name: listed (the memories of a list)
m.space_id = %(space)s and m.state = any(%(states)s)

-- name: paged (the order of a list and its page)
order by m.rev desc, m.memory_id limit %(limit)s offset %(offset)s

-- name: by_limits (what is found here, and has not expired)
{{search.by_limits}}

-- name: by_limits_then (the same at a revision)
{{search.by_limits_then}}

-- name: by_categories (filters of a list)
and m.category = any(%(categories)s)

-- name: by_kinds
and m.kind = any(%(kinds)s)

-- name: by_fact_kinds
and m.fact->>'kind' = any(%(fact_kinds)s)

-- name: by_trusts
and m.trust = any(%(trusts)s)

-- name: by_pinned
and m.pinned = %(pinned)s

-- name: by_tag
and %(tag)s = any(m.tags)

-- name: by_since
and m.updated_at >= %(since)s

-- name: by_until
and m.updated_at <= %(until)s

-- name: by_contains (a text, no pattern)
and strpos(lower(m.text), lower(%(contains)s)) > 0

-- name: by_beginning
and m.memory_id between rpad(%(beginning)s, 32, '0')::uuid and rpad(%(beginning)s, 32, 'f')::uuid

-- name: by_source
and m.source = %(source)s

-- name: by_session_id
and m.session_id = %(session_id)s

-- name: by_agent_id
and m.agent_id = %(agent_id)s

-- name: by_after (what follows a memory in the order of a list)
and (m.rev < %(after_rev)s or (m.rev = %(after_rev)s and m.memory_id > %(after_id)s))

-- name: related (the active memories with an edge to a memory, strongest first)
select r.strength, {m.memory_columns}
from (
  select to_id as memory_id, strength from muniment.relations where space_id = %(space)s and from_id = %(memory_id)s
  union all
  select from_id, strength from muniment.relations where space_id = %(space)s and to_id = %(memory_id)s
) r join muniment.memories m on m.space_id = %(space)s and m.memory_id = r.memory_id
where m.state = 'active' {{search.by_limits}} order by r.strength desc, m.memory_id limit %(limit)s

-- name: near (the neighbours of probes; one statement is one transaction, and fails in another role)
select f.n, f.rev as now, f.same_key, f.sim, {m.memory_columns}
from muniment.near(%(space)s, %(kinds)s, %(keys)s, %(attributes)s, %(vectors)b, %(model)s, %(limit)s, %(places)s) f
cross join lateral (select (f.found).*) m
where current_user = 'muniment_app' or muniment.refuse('MU003', current_user::text) is null

-- name: packed (what finds the active memories of a space: ids, kinds, keys and vectors)
select count(*) as memories, array_agg(p.memory_id) as ids, array_agg(p.kind) as kinds, array_agg(p.rev) as revs,
  array_agg(p.stable_key) as stable_keys, array_agg(p.place) as places, array_agg(p.vector is not null) as has_vector,
  string_agg(halfvec_send(p.vector), ''::bytea) as vectors
from (
  select c.memory_id, c.kind, c.rev, c.stable_key, {{place}} as place,
    case when c.embedding_model = %(model)s then c.embedding when c.next_model = %(model)s then c.next_embedding end
      as vector
  from muniment.memories c where c.space_id = %(space)s and c.state = 'active' and not {{of_resource}} limit %(limit)s
) p

-- name: of_resource (whether a resource states it: then it becomes no part of another memory)
(c.trust = 'document' and c.source is not null)

-- name: place (where a memory is found; null: everywhere)
case c.reach when 'project' then 'project:' || c.project_id when 'session' then 'session:' || c.session_id end

-- name: near_in_words (the memories of a probe's kind and place that share most of its words, of equal ones the latest)
select p.n, false as same_key, null::real as sim, {m.memory_columns}
from unnest(%(kinds)s::text[], %(words)s::text[], %(places)s::text[]) with ordinality p (kind, words, place, n)
cross join lateral (
  select c.* from muniment.memories c
  where c.space_id = %(space)s and c.state = 'active' and c.kind = p.kind and c.words <#> p.words::sparsevec < 0
    and {{place}} is not distinct from p.place and not {{of_resource}}
  order by c.words <#> p.words::sparsevec, c.rev desc, c.memory_id limit %(limit)s
) m
order by p.n

-- name: history (journal lines with the text as it stood then, empty when that or the memory was erased)
select {{entry_columns}} from muniment.journal j {{entry_joins}}
where j.space_id = %(space)s and (%(memory_id)s::uuid is null or j.memory_id = %(memory_id)s) and {{entry_visible}}
order by j.rev desc limit %(limit)s

-- name: entry_columns (the columns of a journal entry)
j.rev, j.memory_id, j.action, j.ts, coalesce(v.category, m.category, '') as category,
  coalesce(v.text, case when m.rev = j.rev or e.lines is null then m.text end, '') as text,
  coalesce(v.importance, m.importance, 1) as importance, coalesce(v.pinned, m.pinned, false) as pinned,
  j.old_ref, j.new_ref, j.thread_id, j.node, j.actor, j.band, j.sim, j.meta

-- name: entry_joins (what an entry takes them from)
left join muniment.memories m on m.space_id = %(space)s and m.memory_id = j.memory_id
left join muniment.memory_versions v on v.space_id = %(space)s and v.memory_id = j.memory_id and v.from_rev = j.rev
left join lateral (
  select count(*) as lines from muniment.journal h
  where h.space_id = %(space)s and h.memory_id = j.memory_id and h.meta ? 'hard' having count(*) > 0) e on true

-- name: entry_visible (what a reader may not see is left out, what was erased is not)
(m.memory_id is not null or e.lines is not null)

-- name: counts (counts of the space)
select count(*) filter (where state = 'active') as active, count(*) as memories,
  count(*) filter (where state = 'soft_deleted') as soft_deleted,
  count(*) filter (where state = 'active' and embedding_model = '') as unembedded,
  (select count(*) from muniment.turns where space_id = %(space)s) as turns,
  (select count(*) from muniment.relations where space_id = %(space)s) as relations
from muniment.memories where space_id = %(space)s

-- name: spaces (the scopes of all spaces)
select tenant_id, owner_id, owner_type from muniment.spaces order by created_at, space_id

-- name: revision_at (the revision at a time)
select coalesce(max(rev), 0) as rev from muniment.journal where space_id = %(space)s and ts <= %(moment)s

-- name: revision_then (the same of a space that is read beside, whatever of it the reader may not see)
select coalesce((
  select muniment.revision_before(s.space_id, %(then)s::timestamptz + interval '1 microsecond')
  from muniment.spaces s where s.space_id = %(space)s), 0) as rev

-- name: said (when what a memory says was said last, by the clock of the database)
(select max(t.said_at) from muniment.turns t where t.space_id = %(space)s and t.turn_id = any(m.turns)) as said

-- name: members (memories by their ids)
select {m.memory_columns}, {{said}} from muniment.memories m where m.space_id = %(space)s and m.memory_id = any(%(ids)s)

-- name: edges (the edges of memories)
select r.from_id, r.to_id, r.strength from muniment.relations r
where r.space_id = %(space)s and (r.from_id = any(%(ids)s) or r.to_id = any(%(ids)s))

-- name: maintenance (how far the space was maintained, and when it is due next)
select rev, tended_rev, tended_at, tend_at, tend_terms from muniment.spaces where space_id = %(space)s

-- name: space (the revision of the space, and since when it exists)
select rev, created_at from muniment.spaces where space_id = %(space)s

-- name: changes (a page of the journal after a revision, each line with the memory as it was then)
select j.rev as change_rev, j.memory_id as changed_id, j.action as change_action, j.ts as change_ts, {m.shown_columns}
from (
  select o.rev, o.memory_id, o.action, o.ts from muniment.journal o
  where o.space_id = %(space)s and o.rev > %(since)s order by o.rev limit %(limit)s
) j left join lateral (
  select {c.memory_columns} from muniment.memories c
  where c.space_id = %(space)s and c.memory_id = j.memory_id and c.rev <= j.rev
  union all
  select {c.version_columns} from muniment.memory_versions c
  where c.space_id = %(space)s and c.memory_id = j.memory_id and c.from_rev <= j.rev and c.to_rev > j.rev
) m on true
order by j.rev

-- name: departures (a page of the lines whose memory was in one of these categories before, and in none of them then)
select j.rev as change_rev, j.memory_id as changed_id, j.action as change_action, j.ts as change_ts
from muniment.journal j cross join lateral (
  select o.category from muniment.journal o
  where o.space_id = %(space)s and o.memory_id = j.memory_id and o.rev < j.rev order by o.rev desc limit 1
) before
where j.space_id = %(space)s and j.rev > %(since)s and j.rev <= %(until)s
  and before.category = any(%(categories)s) and not coalesce(j.category = any(%(categories)s), false)
order by j.rev limit %(limit)s
