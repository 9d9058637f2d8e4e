-- name: add_operation
insert into outbox (operation, tenant, user, project, session, verb, item, payload, made)
values (:operation, :tenant, :user, :project, :session, :verb, :item, :payload, :made)

-- name: remove_overtaken: what was never sent, and says less than what comes now
delete from outbox
where tenant = :tenant and user = :user and item = :item and refusal is null and attempts = 0
  and (verb in ('pin', 'unpin') or :verb = 'upsert')

-- name: remove_forgotten: nothing that comes before a forgetting matters, and no text of it stays
delete from outbox where tenant = :tenant and user = :user and item = :item

-- name: count_waiting
select count(*) from outbox where refusal is null

-- name: find_droppable: the oldest writes first, then pins; never what forgets
select n, tenant, user from outbox where refusal is null and verb <> 'forget'
order by verb <> 'upsert', n limit ?

-- name: remove_operation
delete from outbox where operation = ?

-- name: drop_operation
delete from outbox where n = ?

-- name: count_dropped
insert into progress (tenant, user, dropped) values (?, ?, 1)
on conflict do update set dropped = dropped + 1

-- name: list_owners
select distinct tenant, user from outbox where refusal is null

-- name: list_known_owners
select tenant, user from outbox union select tenant, user from progress order by 1, 2

-- name: list_waiting
select n, operation, tenant, user, project, session, verb, item, payload, made, attempts from outbox
where tenant = :tenant and user = :user and refusal is null order by n limit :limit

-- name: summarize_waiting
select count(*), min(made), coalesce(max(verb <> 'upsert'), 0) from outbox
where tenant = ? and user = ? and refusal is null

-- name: note_attempt
update outbox set attempts = attempts + 1 where operation = ?

-- name: set_aside
update outbox set refusal = :refusal, payload = null where operation = :operation

-- name: trim_aside
delete from outbox where refusal is not null and n not in (
    select n from outbox where refusal is not null order by n desc limit ?
)

-- name: has_forgetting
select 1 from outbox
where tenant = ? and user = ? and item = ? and verb = 'forget' and refusal is null limit 1

-- name: has_waiting
select 1 from outbox
where tenant = :tenant and user = :user and (:item is null or item = :item) and refusal is null limit 1

-- name: move_operations
update outbox set item = :server, payload = json_set(payload, '$.id', :server)
where tenant = :tenant and user = :user and item = :item

-- name: find_alias
select server from alias where tenant = ? and user = ? and item = ?

-- name: add_alias
insert into alias (tenant, user, item, server) values (:tenant, :user, :item, :server)
on conflict do update set server = excluded.server

-- name: move_aliases
update alias set server = :server where tenant = :tenant and user = :user and server = :item

-- name: read_progress
select revision, credit, dropped, failures, next_at, last_error, sent_at from progress where tenant = ? and user = ?

-- name: put_progress
insert into progress (tenant, user, revision, credit, failures, next_at, last_error, sent_at)
values (:tenant, :user, :revision, :credit, :failures, :next_at, :last_error, :sent_at)
on conflict do update set
    revision = :revision, credit = :credit, failures = :failures, next_at = :next_at, last_error = :last_error,
    sent_at = :sent_at

-- name: summarize_outbox
select count(*) filter (where refusal is null), count(*) filter (where refusal is not null),
  min(made) filter (where refusal is null)
from outbox

-- name: summarize_progress
select coalesce(sum(dropped), 0), max(next_at), coalesce(max(failures), 0), max(sent_at), coalesce(max(revision), 0)
from progress

-- name: find_last_error
select last_error from progress where last_error is not null order by failures desc limit 1

-- name: list_aside
select operation, verb, item, made, refusal from outbox where refusal is not null order by n desc limit ?

-- name: rename_item
update item set id = :id, revision = :revision where n = :n

-- name: find_tombstone
select 1 from tombstone where space = ? and id = ?
