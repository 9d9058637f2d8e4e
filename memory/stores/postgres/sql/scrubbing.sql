-- name: tables (of the memory, of its jobs, and of the checkpoints)
select n.nspname as schema, c.relname as name from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where n.nspname in ('muniment', 'jobs', 'checkpoints') and c.relkind in ('r', 'm') order by 1, 2

-- name: may (who is not a superuser may not switch the log, and sees only its own tables; a node of a Citus cluster is not
-- the others, each of which has a log and statistics of its own)
select rolsuper and not exists (select from pg_catalog.pg_extension where extname = 'citus') as all, not exists (
  select from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  where n.nspname in ('muniment', 'jobs', 'checkpoints') and c.relkind = 'r' and not pg_has_role(c.relowner, 'usage')) as tables
from pg_catalog.pg_roles where rolname = current_user

-- name: alone
select pg_try_advisory_lock(%s) as yes

-- name: place (the same for two addresses of one database)
select current_database() as name, pg_postmaster_start_time() as started

-- name: now
select pg_current_xact_id()::text as id

-- name: watched (who began before and may still look at what is gone; ids of 64 bits, since those of 32 begin anew)
with began as (select age(%(id)s::xid8::xid) as ago)
select (
  select count(*) from pg_catalog.pg_stat_activity, began
  where pid <> pg_backend_pid() and coalesce(datname, current_database()) = current_database() and age(backend_xmin) > ago
) as transactions, (
  select count(*) from pg_catalog.pg_prepared_xacts, began where database = current_database() and age(transaction) > ago
) as prepared, (
  select count(*) from pg_catalog.pg_replication_slots, began
  where coalesce(database, current_database()) = current_database() and age(xmin) > ago
) as slots

-- name: patience
set lock_timeout = '60s'

-- name: named (whoever finds what a scrub has left behind knows by this that none is under way)
set application_name = 'muniment scrub'

-- name: forget_statistics (of a table that has no rows any more `analyze` leaves them as they are)
delete from pg_catalog.pg_statistic where starelid in (
  select c.oid from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  where n.nspname in ('muniment', 'jobs', 'checkpoints'))

-- name: point
checkpoint

-- name: keep_none (a segment of the log that nobody needs is removed, not used again with its old bytes in it; nobody else spells it so)
alter system set wal_recycle = 'OfF'

-- name: left (a quick look, for anybody)
select true as yes from pg_catalog.pg_roles
where rolname = current_user and rolsuper and not current_setting('wal_recycle')::boolean

-- name: ours
select true as yes from pg_catalog.pg_file_settings
where name = 'wal_recycle' and setting = 'OfF' and not exists (
  select from pg_catalog.pg_stat_activity where application_name = 'muniment scrub' and pid <> pg_backend_pid())

-- name: keep_again
alter system reset wal_recycle

-- name: set (whether somebody else has decided that)
select exists (select from pg_catalog.pg_file_settings where name = 'wal_recycle' and sourcefile like '%%postgresql.auto.conf') as some

-- name: reload
select pg_reload_conf()

-- name: segment
select pg_walfile_name(pg_current_wal_lsn()) as name

-- name: next_segment (of an empty segment the log does not go on)
select pg_logical_emit_message(false, 'muniment', 'scrub'), pg_switch_wal()

-- name: ahead (segments that wait to be used again, with what was in them)
select count(*) > 0 as some from pg_catalog.pg_ls_waldir() where name ~ '^[0-9A-F]{24}$' and name > pg_walfile_name(pg_current_wal_lsn())

-- name: behind
select count(*) > 0 as some from pg_catalog.pg_ls_waldir() where name ~ '^[0-9A-F]{24}$' and name <= %(name)s
