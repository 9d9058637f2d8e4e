-- name: expect (fails unless the space that is entered has the model)
select muniment.expect_embedder(%(model)s)

-- name: active (the model in use)
select model from muniment.embedders where active

-- name: first (puts the first model into use)
insert into muniment.embedders (model, active)
select %(model)s, true where not exists (select from muniment.embedders where active)
on conflict do nothing

-- name: try_lock (whether this process switches; the lock ends with its transaction, which is idle meanwhile)
select set_config('idle_in_transaction_session_timeout', '0', true),
  pg_try_advisory_xact_lock(hashtext('muniment embedder switch')) as mine

-- name: within (the spaces of a switch: one, those of a tenant, or all but those of tokens with their own models)
s.space_id = coalesce(%(only)s, s.space_id) and s.tenant_id = coalesce(%(tenant)s, s.tenant_id)
and (%(tenant)s::text is not null or not muniment.has_own_models(s.tenant_id))

-- name: used (the model of a space)
muniment.find_model(s.model, s.tenant_id)

-- name: model_of_space (the model of a space, also before somebody writes into it)
select muniment.find_model((select s.model from muniment.spaces s where s.space_id = %(only)s), %(tenant)s) as model

-- name: models (the model of new spaces, or of the only one; the database's, the tenant's, and that of the switch under way)
select muniment.find_model((select s.model from muniment.spaces s where s.space_id = %(only)s), %(tenant)s) as used,
  (select model from muniment.embedders where active) as database,
  (select model from muniment.tenant_embedders where tenant_id = %(tenant)s) as tenant,
  (select model from muniment.embedders where run is not null) as next

-- name: lock_models (waits for the writes of other switches and locks them out)
select model from muniment.embedders order by model for update

-- name: abandon (abandons a switch to another model)
update muniment.embedders set run = null where run is not null and model <> %(model)s

-- name: is_due (whether a space, or the choice for new ones, is of another model; null when the only space does not exist)
select case when %(only)s::uuid is null or exists (select true from muniment.spaces s where {{within}}) then
  exists (select true from muniment.spaces s where {{within}} and {{used}} is distinct from %(model)s)
  or %(only)s::uuid is null and (muniment.find_model(null, %(tenant)s) is distinct from %(model)s
    or %(tenant)s::text is null and exists (
      select true from muniment.tenant_embedders where model <> %(model)s and not muniment.has_own_models(tenant_id))) end as due

-- name: begin (begins a switch, or goes on with the one under way)
insert into muniment.embedders (model, run) values (%(model)s, gen_random_uuid())
on conflict (model) do update set run = coalesce(embedders.run, excluded.run)
returning run

-- name: set_lock_timeout (lets others go on when a lock is not free soon)
set local lock_timeout = '1s'

-- name: pause_writers (keeps plans, imports and new spaces waiting)
lock table muniment.spaces in share mode

-- name: check_run (a row when this is the switch under way, which it stays until the end of the transaction)
select from muniment.embedders where model = %(model)s and run = %(run)s for share

-- name: keep_models (keeps switches from beginning before the end of the transaction)
select model from muniment.embedders order by model for share

-- name: lock_space (keeps writers of the space waiting until the end of the transaction)
select rev from muniment.spaces where space_id = %(space)s for share

-- name: remaining_spaces (the spaces of another model; of a run, those with changes after what it has embedded)
select s.tenant_id, s.owner_id, s.owner_type, {{used}} as model
from muniment.spaces s left join muniment.swept w on w.space_id = s.space_id and w.run is not distinct from %(run)s
where {{within}} and {{used}} is distinct from %(model)s and (%(run)s::uuid is null or s.rev > coalesce(w.rev, 0))
order by s.created_at, s.space_id

-- name: is_pending (a row when the space has changes after what the run has embedded)
select from muniment.spaces s left join muniment.swept w on w.space_id = %(space)s and w.run = %(run)s
where s.space_id = %(space)s and s.rev > coalesce(w.rev, 0)

-- name: set_model (gives the space the model)
update muniment.spaces set model = %(model)s where space_id = %(space)s

-- name: choose_for_tenant (gives the tenant's new spaces the model)
insert into muniment.tenant_embedders (tenant_id, model) values (%(tenant)s, %(model)s)
on conflict (tenant_id) do update set model = excluded.model

-- name: forget_choices (gives the new spaces of every tenant the database's model)
delete from muniment.tenant_embedders where not muniment.has_own_models(tenant_id)

-- name: end (ends the switch to the model)
update muniment.embedders set run = null where run is not null and model = %(model)s

-- name: begin_space (the revision up to which the run has embedded the space; an erasure deletes the row)
insert into muniment.swept (space_id, run, rev) select space_id, %(run)s, 0 from muniment.spaces
  where space_id = %(space)s
on conflict (space_id) do update
set run = excluded.run, rev = case when swept.run = excluded.run then swept.rev else excluded.rev end
returning rev

-- name: mark_embedded (notes the revision up to which the space is embedded)
update muniment.swept set rev = %(rev)s where space_id = %(space)s and run = %(run)s

-- name: is_unembedded (rows without a vector of the model)
m.space_id = %(space)s and m.embedding_model <> %(model)s and m.next_model is distinct from %(model)s

-- name: changed (rows of memories that changed after a revision)
and m.memory_id = any(array(select memory_id from muniment.journal where space_id = %(space)s and rev > %(since)s))

-- name: unembedded (a page of memories and versions (with the revision they are from) without a vector of the model)
select * from (
  (select m.memory_id, 0::bigint as since, m.text, m.aliases from muniment.memories m
   where {{is_unembedded}} and m.memory_id >= %(after)s and m.rev <= coalesce(%(until)s, m.rev) {changed}
   order by m.memory_id limit %(limit)s)
  union all
  (select m.memory_id, m.from_rev, m.text, m.aliases from muniment.memory_versions m
   where {{is_unembedded}} and m.memory_id >= %(after)s and m.to_rev <= coalesce(%(until)s, m.to_rev) {changed}
   order by m.memory_id, m.from_rev limit %(limit)s)
) found order by memory_id, since limit %(limit)s

-- name: new_vector (sets the vector of the next model; one that came into use by the last switch moves to its column)
embedding = case when m.next_model = e.model then m.next_embedding else m.embedding end,
embedding_model = case when m.next_model = e.model then m.next_model else m.embedding_model end,
next_embedding = one.embedding, next_model = %(model)s

-- name: in_use (the model of a space, for an update: Citus takes no such function of a column in one)
with e as materialized (select muniment.find_model(s.model, s.tenant_id) as model from muniment.spaces s where s.space_id = %(space)s)

-- name: write_vectors (writes vectors of memories whose text and other names are unchanged)
{{in_use}}
update muniment.memories m set {{new_vector}}
from e, unnest(%(ids)s::uuid[], %(texts)s::text[], %(starts)s::int[], %(ends)s::int[], %(embeddings)b::halfvec[])
    one (memory_id, text, starts, ends, embedding)
where {{is_unembedded}} and m.memory_id = one.memory_id and m.text = one.text
  and m.aliases = (%(aliases)s::text[])[one.starts:one.ends]

-- name: write_version_vectors (writes vectors of versions)
{{in_use}}
update muniment.memory_versions m set {{new_vector}}
from e, unnest(%(ids)s::uuid[], %(revs)s::bigint[], %(embeddings)b::halfvec[]) one (memory_id, from_rev, embedding)
where {{is_unembedded}} and m.memory_id = one.memory_id and m.from_rev = one.from_rev

-- name: deactivate (puts the model in use out of use)
update muniment.embedders set active = false where active and model <> %(model)s

-- name: activate (puts the next model into use)
insert into muniment.embedders (model, active) values (%(model)s, true)
on conflict (model) do update set active = true, run = null

-- name: cleaned (moves the vector in use to its own column and drops that of an abandoned switch)
embedding = case when m.next_model = e.model then m.next_embedding else m.embedding end,
embedding_model = case when m.next_model = e.model then m.next_model else m.embedding_model end,
next_embedding = null, next_model = null

-- name: is_unclean (rows of a space that have to be cleaned)
m.space_id = %(space)s and m.next_model is distinct from (select model from muniment.embedders where run is not null)
and m.next_model is not null

-- name: clean (cleans a page of memories)
{{in_use}}
update muniment.memories m set {{cleaned}} from e
where m.space_id = %(space)s and m.memory_id = any(array(
  select m.memory_id from muniment.memories m
  where {{is_unclean}} and m.memory_id > %(after)s order by m.memory_id limit %(limit)s))
returning m.memory_id, m.rev

-- name: clean_versions (cleans a page of versions)
{{in_use}}, page as materialized (
  select m.memory_id, m.from_rev from muniment.memory_versions m
  where {{is_unclean}} and (m.memory_id, m.from_rev) > (%(after)s, %(rev)s)
  order by m.memory_id, m.from_rev limit %(limit)s
)
update muniment.memory_versions m set {{cleaned}}
from e, page p
where m.space_id = %(space)s and m.memory_id = p.memory_id and m.from_rev = p.from_rev
returning m.memory_id, m.from_rev as rev

-- name: scan_all (allows a scan of all spaces, for which there is no index)
set local enable_seqscan = on

-- name: counts (of the spaces: rows, those with a vector of the next model or else of their space's, and those to be cleaned)
with space as materialized (
  select s.space_id, coalesce(%(next)s, {{used}}) as model from muniment.spaces s where {{within}}
)
select count(*) as rows, count(*) filter (where s.model in (embedding_model, next_model)) as done,
  count(*) filter (where next_model is not null and next_model is distinct from %(next)s) as untidy
from space s join (
  select space_id, embedding_model, next_model from muniment.memories
  union all
  select space_id, embedding_model, next_model from muniment.memory_versions
) m using (space_id)

-- name: sample (some active memories)
select m.memory_id, m.text from muniment.memories m
where m.space_id = %(space)s and m.state = 'active' order by m.memory_id limit %(limit)s

-- name: closest (the active memories that are closest to a vector of a model)
select m.memory_id, m.text from muniment.memories m
where m.space_id = %(space)s and m.state = 'active' and m.memory_id is distinct from %(but)s::uuid
  and %(model)s in (m.embedding_model, m.next_model)
order by (case when m.embedding_model = %(model)s then m.embedding else m.next_embedding end) <#> %(vector)s,
  m.memory_id
limit %(limit)s
