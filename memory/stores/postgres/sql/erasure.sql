-- name: lock (waits for every writer of the space and every row that refers to it, and locks them out)
select rev from muniment.spaces where space_id = %(space)s for update

-- name: due (those of the memories that are due to be purged)
select memory_id, rev, category from muniment.memories
where space_id = %(space)s and memory_id = any(%(ids)s) and state <> 'active'
  and (purge_at <= %(at)s or %(early)s and purge_at is not null)
order by memory_id

-- name: bump (advances the space's revision)
update muniment.spaces set rev = rev + %(count)s,
  projected_rev = case when projected_rev = rev then rev + %(count)s else projected_rev end
where space_id = %(space)s

-- name: sealed_rows (the lines whose content an erasure changes, each with its memory: of memories that it removes or strips, and of
-- what refers to removed ones or rests on its turns)
select coalesce(array_agg(memory_id order by rev), '{}') as ids, coalesce(array_agg(rev order by rev), '{}') as revs
from (
  select memory_id, rev from muniment.journal
  where space_id = %(space)s and memory_id = any(%(ids)s) and muniment.private_meta(meta) is not null
  union
  select memory_id, rev from muniment.memories
  where space_id = %(space)s and (memory_id = any(%(ids)s) or memory_id = any(%(stripped)s) or superseded_by = any(%(ids)s) or turns && %(turns)s)
  union
  select memory_id, from_rev from muniment.memory_versions
  where space_id = %(space)s and (memory_id = any(%(ids)s) or superseded_by = any(%(ids)s) or turns && %(turns)s)
) changed

-- name: open_reseals (takes the salts of these lines, before anything is changed)
select muniment.open_reseals(%(space)s, %(ids)s, %(revs)s)

-- name: fill_reseals (seals what is left of them, after the last change)
select muniment.fill_reseals(%(space)s, %(ids)s, %(revs)s)

-- name: seal (seals the lines after a revision)
select muniment.seal_lines(%(space)s, %(since)s)

-- name: projections (removes what the memories say in their slots; others of a slot take its place)
select muniment.project_changes(%(space)s, (
  select jsonb_agg(jsonb_build_object('memory_id', id, 'slots', jsonb_build_array())) from unnest(%(ids)s::uuid[]) id))

-- name: postings (removes the memories from the lists of a large space)
with gone as materialized (
  select words, actor_id, event_time from muniment.memories where space_id = %(space)s and memory_id = any(%(ids)s)
  union all
  select words, actor_id, event_time from muniment.memory_versions where space_id = %(space)s
    and memory_id = any(%(ids)s)
), listed as materialized (
  select split_part(w, ':', 1)::int as dimension
  from gone cross join string_to_table(btrim(split_part(words::text, '/', 1), '{}'), ',') w where w <> ''
  union
  select muniment.speaker_dimension(lower(actor_id)) from gone where actor_id is not null
  union
  select {{large_spaces.day}} from gone m where event_time is not null
  union
  select %(own)s
)
update muniment.postings p set (df, memories, weights) = (
  select count(*), coalesce(array_agg(u.memory_id order by u.n), '{}'), coalesce(array_agg(u.weight order by u.n), '{}')
  from unnest(p.memories, p.weights) with ordinality u (memory_id, weight, n) where u.memory_id <> all(%(ids)s)
)
where p.space_id = %(space)s and p.dimension = any(array(select dimension from listed)) and p.memories && %(ids)s

-- name: empty_postings (deletes lists without a memory)
delete from muniment.postings where space_id = %(space)s and dimension <> 0 and df = 0

-- name: relations (deletes the edges of memories)
delete from muniment.relations where space_id = %(space)s and (from_id = any(%(ids)s) or to_id = any(%(ids)s))

-- name: pair_fingerprints (deletes what was decided of pairs with these memories)
delete from muniment.pair_fingerprints where space_id = %(space)s and (low_id = any(%(ids)s) or high_id = any(%(ids)s))

-- name: requests (leaves of what was asked and answered that it was, and the revision)
update muniment.requests set digest = '', receipt = jsonb_set('{"replayed": true}', '{rev}', receipt -> 'rev')
where space_id = %(space)s and digest <> ''

-- name: host_items (leaves of items that became the memories that they were there; nothing makes them again. An erasure
-- takes the digest of their words, too: it would let a short text be guessed. Of what a purge takes that had expired
-- or had no room nothing is left: it may be made again)
with dropped as (
  delete from muniment.host_items h where h.space_id = %(space)s and h.memory_id = any(%(ids)s) and {{was_dropped}}
)
update muniment.host_items h
set memory_id = null, digest = '', said = case when %(why)s = 'purge' then said end
where h.space_id = %(space)s and h.memory_id = any(%(ids)s) and not {{was_dropped}}

-- name: bisect_replies (deletes replies that were made again: they may say what any memory says)
delete from muniment.bisect_replies where space_id = %(space)s

-- name: was_dropped (whether the memory of an item goes without that anybody has asked for it)
(%(why)s::text = 'purge' and h.forgotten_at is null and coalesce((
    select j.action = 'TTL' from muniment.journal j
    where j.space_id = %(space)s and j.memory_id = h.memory_id order by j.rev desc limit 1), false))

-- name: forget_heirs (lets what one of the memories replaced be replaced by none)
update muniment.{table} set superseded_by = null where space_id = %(space)s and superseded_by = any(%(ids)s)

-- name: journal (removes from the journal lines of memories all but words of the product)
update muniment.journal set meta = (
  select coalesce(jsonb_object_agg(key, value), '{}') from jsonb_each(meta)
  where key in ('why', 'notes', 'consent', 'field', 'run', 'hard')
)
where space_id = %(space)s and memory_id = any(%(ids)s) and meta <> '{}'

-- name: last_lines (inserts the last journal line of each removed memory)
insert into muniment.journal (space_id, rev, memory_id, action, old_ref, node, actor, meta, ts, category)
select %(space)s, %(rev)s + n, memory_id, 'DELETE', memory_id || '@' || rev, %(node)s, %(actor)s,
  jsonb_build_object('hard', true, 'why', %(why)s::text), %(at)s, category
from unnest(%(ids)s::uuid[], %(revs)s::bigint[], %(categories)s::text[]) with ordinality gone
  (memory_id, rev, category, n)
returning rev

-- name: shares (removes the shares of a space, and those by which it reads others)
delete from muniment.shares where space_id = %(space)s or reader_id = %(space)s

-- name: tokens (removes the tokens that speak for a user)
select muniment.erase_tokens(%(tenant)s, %(owner)s) as count

-- name: receipt (inserts the receipt of an erasure)
insert into muniment.erasures (space_id, erasure_id, what, counts, at)
values (%(space)s, %(id)s, %(what)s, %(counts)s, %(at)s)

-- name: statements (a page of the texts of memories and of their versions)
select * from (
  (select m.memory_id as id, 0::bigint as since, m.kind, m.text, m.context, m.aliases, m.fact, m.tags,
     m.source, m.turns from muniment.memories m
   where m.space_id = %(space)s and (m.memory_id, 0) > (%(after)s, %(since)s) order by m.memory_id limit %(limit)s)
  union all
  (select v.memory_id as id, v.from_rev, v.kind, v.text, v.context, v.aliases, v.fact, v.tags, v.source,
     v.turns from muniment.memory_versions v
   where v.space_id = %(space)s and (v.memory_id, v.from_rev) > (%(after)s, %(since)s)
   order by v.memory_id, v.from_rev limit %(limit)s)
) told order by id, since limit %(limit)s

-- name: ledger_page (a page of the turns of the ledger)
select {{ledger.turn}} from muniment.turns t
where t.space_id = %(space)s and t.turn_id > %(after)s order by t.turn_id limit %(limit)s

-- name: threads (the threads of memories and turns, or of the whole space)
select thread_id from muniment.turns where space_id = %(space)s
  and (%(ids)s::uuid[] is null or turn_id = any(%(turns)s))
union
select thread_id from muniment.memories where space_id = %(space)s
  and (%(ids)s::uuid[] is null or memory_id = any(%(ids)s))
union
select thread_id from muniment.memory_versions
where space_id = %(space)s and (%(ids)s::uuid[] is null or memory_id = any(%(ids)s))
union
select thread_id from muniment.journal where space_id = %(space)s
  and (%(ids)s::uuid[] is null or memory_id = any(%(ids)s))
union
select thread_id from muniment.events where space_id = %(space)s
  and (%(ids)s::uuid[] is null or memory_id = any(%(ids)s))
union
select thread_id from muniment.thread_revision where space_id = %(space)s and %(ids)s::uuid[] is null

-- name: existing (those of the memories that exist, with their revisions and categories)
select memory_id, rev, category from muniment.memories where space_id = %(space)s and memory_id = any(%(ids)s) order by memory_id

-- name: former_versions (deletes versions of other memories that say the same)
delete from muniment.memory_versions v using unnest(%(former_ids)s::uuid[], %(former_revs)s::bigint[])
  gone (memory_id, since)
where v.space_id = %(space)s and v.memory_id = gone.memory_id and v.from_rev = gone.since

-- name: kept_beside (what stays beside the text of each memory or version)
unnest(%(around_ids)s::uuid[], %(around_revs)s::bigint[], %(around_contexts)s::text[], %(around_tags)s::jsonb[],
  %(around_sources)s::text[], %(around_words)b::sparsevec[]) one (memory_id, since, context, tags, source, words)

-- name: strip (removes what memories have beside their text, and the words that came from it)
update muniment.memories m set context = one.context, source = one.source, words = one.words,
  tags = array(select jsonb_array_elements_text(one.tags))
from {{kept_beside}}
where m.space_id = %(space)s and m.memory_id = one.memory_id and one.since = 0

-- name: strip_former (the same of versions)
update muniment.memory_versions v set context = one.context, source = one.source, words = one.words,
  tags = array(select jsonb_array_elements_text(one.tags))
from {{kept_beside}}
where v.space_id = %(space)s and v.memory_id = one.memory_id and v.from_rev = one.since

-- name: change_lines (inserts journal lines of the memories that lost what was beside their text)
insert into muniment.journal (space_id, rev, memory_id, action, node, actor, meta, ts, category)
select %(space)s, %(rev)s + n, memory_id, 'UPDATE', %(node)s, %(actor)s,
  jsonb_build_object('hard', true, 'why', %(why)s::text), %(at)s, category
from unnest(%(ids)s::uuid[], %(categories)s::text[]) with ordinality told (memory_id, category, n)
returning rev

-- name: turns (deletes turns)
delete from muniment.turns where space_id = %(space)s and turn_id = any(%(turns)s)

-- name: sessions (empties the metadata of sessions, and takes out why they have ended)
update muniment.sessions set metadata = '{}',
  ended_why = case when ended_why is null or ended_why = 'idle' then ended_why else 'call' end
where space_id = %(space)s and session_id = any(%(sessions)s)

-- name: observations_of_turns (deletes the observations of turns, and others that say the same)
delete from muniment.observations where space_id = %(space)s
  and (turns && %(turns)s or observation_id = any(%(observations)s::uuid[]))

-- name: drop_support (removes turns from what rests on them)
update muniment.{table} set turns = array(
  select t.turn from unnest(turns) with ordinality t (turn, n) where t.turn <> all(%(turns)s) order by t.n)
where space_id = %(space)s and turns && %(turns)s

-- name: extractions (empties extraction records of turns; they stay, so that no turn is extracted again)
update muniment.extractions set repaired = '{}', refused = '{}'
where space_id = %(space)s and turn_id = any(%(turns)s) and (repaired <> '{}' or refused <> '{}')

-- name: unsupported_requests (deletes requests for consent that rest on these turns alone)
delete from muniment.consent_requests where space_id = %(space)s and turns <> '{}' and turns <@ %(turns)s

-- name: request_values (the values of the requests that are about to be deleted)
select array_agg(distinct value) as said from muniment.consent_requests
where space_id = %(space)s and (memory_id = any(%(ids)s) or turns <> '{}' and turns <@ %(turns)s)

-- name: forget_values (removes such values from other requests)
update muniment.consent_requests set old = null where space_id = %(space)s and old = any(%(said)s)

-- name: recalled_prints (removes fingerprints of the memories from turns that recalled them)
update muniment.turns set recalled = array(
  select r.print from unnest(recalled) with ordinality r (print, n) where r.print <> all(%(prints)s) order by r.n)
where space_id = %(space)s and recalled && %(prints)s

-- name: jobs_of_turns (deletes the jobs of turns)
delete from jobs.queue where args ->> 'key' = any(%(keys)s) and starts_with(dedup_key, %(space)s::text || ':')

-- name: jobs (deletes the jobs of a space)
delete from jobs.queue where starts_with(dedup_key, %(space)s::text || ':') or lock = %(space)s::text

-- name: rows_of_memories (deletes the rows of memories in one table)
delete from muniment.{table} where space_id = %(space)s and memory_id = any(%(ids)s)

-- name: all_rows (deletes the rows of a space in one table)
delete from muniment.{table} where space_id = %(space)s
