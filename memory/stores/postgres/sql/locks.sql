-- name: holder (the process that holds a lock, and since when its transaction, or else its session, lasts)
select a.pid, coalesce(a.xact_start, a.backend_start) as since
from pg_catalog.pg_locks l join pg_catalog.pg_stat_activity a using (pid),
  lateral (select coalesce(%(key)s::bigint, hashtext(%(name)s::text)) as key) k
where l.locktype = 'advisory' and l.granted and l.objsubid = 1
  and l.database = (select oid from pg_catalog.pg_database where datname = current_database())
  and l.classid = ((k.key >> 32) & 4294967295)::oid and l.objid = (k.key & 4294967295)::oid
