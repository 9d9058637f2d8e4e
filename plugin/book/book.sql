-- name: read_switch (whether the plugin is on in a session; no row: it is)
select is_on from switches where tenant = :tenant and user = :user and session = :session

-- name: write_switch (switches the plugin on or off in a session)
insert into switches (tenant, user, session, is_on, changed_at) values (:tenant, :user, :session, :is_on, :at)
on conflict (tenant, user, session) do update set is_on = excluded.is_on, changed_at = excluded.changed_at

-- name: count_written (how many items were written for a user since a time)
select coalesce(sum(written), 0) from turns where tenant = :tenant and user = :user and at >= :since

-- name: write_turn (keeps the report of a turn in place of the former)
insert or replace into turns (tenant, user, session, turn_id, project, at, policy, is_shadow, recall, recall_reason,
  is_hit, item_ids, tokens, written, duplicates, refusals, remote_reads, remote_writes, queue_length, milliseconds)
values (:tenant, :user, :session, :turn_id, :project, :at, :policy, :is_shadow, :recall, :recall_reason,
  :is_hit, :item_ids, :tokens, :written, :duplicates, :refusals, :remote_reads, :remote_writes, :queue_length,
  :milliseconds)

-- name: read_last_turn (the newest report of a session)
select * from turns where tenant = :tenant and user = :user and session = :session order by at desc limit 1

-- name: read_turns (the newest reports since a time, of one user or of all of a tenant, oldest first)
select * from (
  select * from turns where tenant = :tenant and (:user is null or user = :user) and at >= :since
  order by at desc limit :limit) order by at

-- name: write_audit (adds a line)
insert into audit (tenant, user, session, project, at, action, item_id)
values (:tenant, :user, :session, :project, :at, :action, :item_id)

-- name: read_audit (the newest lines of a user, newest first)
select * from audit where tenant = :tenant and user = :user order by n desc limit :limit

-- name: drop_turns (removes reports from before a time)
delete from turns where at < :before

-- name: drop_audit (removes lines from before a time)
delete from audit where at < :before
