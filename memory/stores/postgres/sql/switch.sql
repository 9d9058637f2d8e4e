-- name: expect
select muniment.expect_embedder(%(model)s)

-- name: active
select model from muniment.embedders where active

-- name: first
insert into muniment.embedders (model, active)
select %(model)s, true where not exists (select from muniment.embedders where active)
on conflict do nothing

-- name: only (one switch at a time; the lock goes with the connection, also when its process is killed. Who holds it is idle)
select set_config('idle_in_transaction_session_timeout', '0', true),
  pg_try_advisory_xact_lock(hashtext('muniment embedder switch')) as mine

-- name: models (the one in use, and the one of the switch under way)
select (select model from muniment.embedders where active) as used,
  (select model from muniment.embedders where run is not null) as next

-- name: halt (what other switches have in hand is done before, and nothing of it afterwards)
select model from muniment.embedders order by model for update

-- name: abandon
update muniment.embedders set run = null where run is not null and model <> %(model)s

-- name: begin
insert into muniment.embedders (model, run) values (%(model)s, gen_random_uuid())
on conflict (model) do update set run = coalesce(embedders.run, excluded.run)
returning run

-- name: impatient (who waits longer than this for a lock lets the others go on, and tries again)
set local lock_timeout = '1s'

-- name: pause (a writer has to wait; a plan or an import bumps a space, and so does whoever founds one)
lock table muniment.spaces in share mode

-- name: still (whether this is the switch under way; it stays so until the end of the transaction)
select from muniment.embedders where model = %(model)s and run = %(run)s for share

-- name: settled (nor does a switch begin before the end of the transaction)
select model from muniment.embedders order by model for share

-- name: alone (no writer of the space is at work until the end of the transaction)
select rev from muniment.spaces where space_id = %(space)s for share

-- name: unswept (spaces with changes after what the run has swept)
select s.tenant_id, s.owner_id, s.owner_type
from muniment.spaces s left join muniment.swept w on w.space_id = s.space_id and w.run = %(run)s
where s.rev > coalesce(w.rev, 0) order by s.created_at, s.space_id

-- name: begun (an erasure takes the row with it: who has swept does not find it in a space that has begun anew)
insert into muniment.swept (space_id, run, rev) select space_id, %(run)s, 0 from muniment.spaces where space_id = %(space)s
on conflict (space_id) do update
set run = excluded.run, rev = case when swept.run = excluded.run then swept.rev else excluded.rev end
returning rev

-- name: swept
update muniment.swept set rev = %(rev)s where space_id = %(space)s and run = %(run)s

-- name: without
m.space_id = %(space)s and m.embedding_model <> %(model)s and m.next_model is distinct from %(model)s

-- name: changed
and m.memory_id = any(array(select memory_id from muniment.journal where space_id = %(space)s and rev > %(since)s))

-- name: strangers (former texts have the revision that they are from)
select * from (
  (select m.memory_id, 0::bigint as since, m.text from muniment.memories m
   where {{without}} and m.memory_id >= %(after)s and m.rev <= coalesce(%(until)s, m.rev) {changed}
   order by m.memory_id limit %(limit)s)
  union all
  (select m.memory_id, m.from_rev, m.text from muniment.memory_versions m
   where {{without}} and m.memory_id >= %(after)s and m.to_rev <= coalesce(%(until)s, m.to_rev) {changed}
   order by m.memory_id, m.from_rev limit %(limit)s)
) found order by memory_id, since limit %(limit)s

-- name: given (a row whose vector in use came by the last switch is tidied on the way)
embedding = case when m.next_model = e.model then m.next_embedding else m.embedding end,
embedding_model = case when m.next_model = e.model then m.next_model else m.embedding_model end,
next_embedding = one.embedding, next_model = %(model)s

-- name: revector
update muniment.memories m set {{given}}
from muniment.embedders e,
  unnest(%(ids)s::uuid[], %(texts)s::text[], %(embeddings)b::halfvec[]) one (memory_id, text, embedding)
where e.active and {{without}} and m.memory_id = one.memory_id and m.text = one.text

-- name: revector_versions
update muniment.memory_versions m set {{given}}
from muniment.embedders e,
  unnest(%(ids)s::uuid[], %(revs)s::bigint[], %(embeddings)b::halfvec[]) one (memory_id, from_rev, embedding)
where e.active and {{without}} and m.memory_id = one.memory_id and m.from_rev = one.from_rev

-- name: retire
update muniment.embedders set active = false where active and model <> %(model)s

-- name: adopt
insert into muniment.embedders (model, active) values (%(model)s, true)
on conflict (model) do update set active = true, run = null

-- name: tidied (the vector in use into its own column; what an abandoned switch has left goes)
embedding = case when m.next_model = e.model then m.next_embedding else m.embedding end,
embedding_model = case when m.next_model = e.model then m.next_model else m.embedding_model end,
next_embedding = null, next_model = null

-- name: untidy
m.space_id = %(space)s and m.next_model is distinct from (select model from muniment.embedders where run is not null)
and m.next_model is not null

-- name: tidy
update muniment.memories m set {{tidied}}
from muniment.embedders e
where e.active and m.space_id = %(space)s and m.memory_id = any(array(
  select m.memory_id from muniment.memories m
  where {{untidy}} and m.memory_id > %(after)s order by m.memory_id limit %(limit)s))
returning m.memory_id, m.rev

-- name: tidy_versions
with page as materialized (
  select m.memory_id, m.from_rev from muniment.memory_versions m
  where {{untidy}} and (m.memory_id, m.from_rev) > (%(after)s, %(rev)s)
  order by m.memory_id, m.from_rev limit %(limit)s
)
update muniment.memory_versions m set {{tidied}}
from muniment.embedders e, page p
where e.active and m.space_id = %(space)s and m.memory_id = p.memory_id and m.from_rev = p.from_rev
returning m.memory_id, m.from_rev as rev

-- name: whole (every row of every space: there is no index for that)
set local enable_seqscan = on

-- name: tally (of all spaces: rows with a vector, those that have one of the next model, and those yet to be tidied)
select count(*) as rows, count(*) filter (where %(model)s in (embedding_model, next_model)) as done,
  count(*) filter (where next_model is not null and next_model is distinct from %(next)s) as untidy
from (
  select embedding_model, next_model from muniment.memories
  union all
  select embedding_model, next_model from muniment.memory_versions
) m

-- name: sample
select m.memory_id, m.text from muniment.memories m
where m.space_id = %(space)s and m.state = 'active' order by m.memory_id limit %(limit)s

-- name: closest
select m.memory_id, m.text from muniment.memories m
where m.space_id = %(space)s and m.state = 'active' and m.memory_id is distinct from %(but)s::uuid
  and %(model)s in (m.embedding_model, m.next_model)
order by (case when m.embedding_model = %(model)s then m.embedding else m.next_embedding end) <#> %(vector)s, m.memory_id
limit %(limit)s
