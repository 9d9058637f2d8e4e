-- name: tables (the tables of the memory, of its jobs and of the checkpoints)
select n.nspname as schema, c.relname as name from pg_catalog.pg_class c join pg_catalog.pg_namespace n
  on n.oid = c.relnamespace
where n.nspname in ('muniment', 'jobs', 'checkpoints') and c.relkind in ('r', 'm') order by 1, 2

-- name: permissions (whether this role may renew the log and statistics, and owns the tables)
select rolsuper and not exists (select from pg_catalog.pg_extension where extname = 'citus') as all, not exists (
  select from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  where n.nspname in ('muniment', 'jobs', 'checkpoints') and c.relkind = 'r'
    and not pg_has_role(c.relowner, 'usage')) as tables
from pg_catalog.pg_roles where rolname = current_user

-- name: try_lock (whether this process scrubs the database)
select pg_try_advisory_lock(%s) as yes

-- name: identity (the same for two addresses of one database)
select current_database() as name, pg_postmaster_start_time() as started

-- name: now (the id of this transaction)
select pg_current_xact_id()::text as id

-- name: watched (how many transactions, prepared ones and replication slots may see what was removed before an id)
with began as (select age(%(id)s::xid8::xid) as ago)
select (
  select count(*) from pg_catalog.pg_stat_activity, began
  where pid <> pg_backend_pid() and coalesce(datname, current_database()) = current_database()
    and age(backend_xmin) > ago
) as transactions, (
  select count(*) from pg_catalog.pg_prepared_xacts, began where database = current_database()
    and age(transaction) > ago
) as prepared, (
  select count(*) from pg_catalog.pg_replication_slots, began
  where coalesce(database, current_database()) = current_database() and age(xmin) > ago
) as slots

-- name: set_lock_timeout (bounds the wait for a table)
set lock_timeout = '60s'

-- name: set_name (names the session, so that others know that a scrub is under way)
set application_name = 'muniment scrub'

-- name: forget_statistics (deletes the planner's statistics of the tables: `analyze` leaves those of an empty table)
delete from pg_catalog.pg_statistic where starelid in (
  select c.oid from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  where n.nspname in ('muniment', 'jobs', 'checkpoints'))

-- name: write_checkpoint (writes a checkpoint)
checkpoint

-- name: stop_recycling (removes unneeded log segments instead of reusing them; the spelling marks the setting as ours)
alter system set wal_recycle = 'OfF'

-- name: is_recycling_stopped (whether a superuser finds recycling switched off)
select true as yes from pg_catalog.pg_roles
where rolname = current_user and rolsuper and not current_setting('wal_recycle')::boolean

-- name: is_own_setting (whether a scrub has switched it off, and none is under way)
select true as yes from pg_catalog.pg_file_settings
where name = 'wal_recycle' and setting = 'OfF' and not exists (
  select from pg_catalog.pg_stat_activity where application_name = 'muniment scrub' and pid <> pg_backend_pid())

-- name: restore_recycling (lets the server reuse log segments)
alter system reset wal_recycle

-- name: is_set (whether somebody else has set it)
select exists (select from pg_catalog.pg_file_settings where name = 'wal_recycle'
  and sourcefile like '%%postgresql.auto.conf') as some

-- name: reload (reloads the settings)
select pg_reload_conf()

-- name: segment (the log segment that is written now)
select pg_walfile_name(pg_current_wal_lsn()) as name

-- name: next_segment (goes on in a new log segment: an empty one would not be left)
select pg_logical_emit_message(false, 'muniment', 'scrub'), pg_switch_wal()

-- name: ahead (whether segments wait for reuse, with their old contents)
select count(*) > 0 as some from pg_catalog.pg_ls_waldir() where name ~ '^[0-9A-F]{24}$'
  and name > pg_walfile_name(pg_current_wal_lsn())

-- name: behind (whether segments up to a name remain)
select count(*) > 0 as some from pg_catalog.pg_ls_waldir() where name ~ '^[0-9A-F]{24}$' and name <= %(name)s
