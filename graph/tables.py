"""SQL on the tables of the official saver, beside its own."""

from __future__ import annotations

from typing import LiteralString

# The size of a row on the disk, where long values are compressed.
_CHECKPOINT: LiteralString = "(pg_column_size(checkpoint) + pg_column_size(metadata) + 24)"
_BLOB: LiteralString = "(coalesce(pg_column_size(blob), 0) + 24)"

# A checkpoint and its values, while its parent is locked, so that the values that both share stay. Nothing is saved
# where the parent is gone (`deltas` is null), or where one of the `kept` values is only in the writes of its ancestors.
SAVE_CHECKPOINT: LiteralString = """
with parent as materialized (
  select coalesce(metadata -> 'counters_since_delta_snapshot', '{}') as deltas from checkpoints
  where thread_id = %(thread)s and checkpoint_ns = %(ns)s and checkpoint_id = %(parent)s for key share
), allowed as (
  select where %(parent)s::text is null or exists (select from parent where not deltas ?| %(kept)s::text[])
), parts as (
  insert into checkpoint_blobs (thread_id, checkpoint_ns, channel, version, type, blob)
  select %(thread)s, %(ns)s, one.* from allowed cross join
    unnest(%(channels)s::text[], %(versions)s::text[], %(types)s::text[], %(blobs)b::bytea[]) one
  on conflict (thread_id, checkpoint_ns, channel, version) do nothing
), saved as (
  insert into checkpoints (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, checkpoint, metadata)
  select %(thread)s, %(ns)s, %(id)s, %(parent)s, %(checkpoint)s, %(metadata)s from allowed
  on conflict (thread_id, checkpoint_ns, checkpoint_id)
    do update set checkpoint = excluded.checkpoint, metadata = excluded.metadata
  returning true
)
select exists (select from saved) as saved, (select array(select jsonb_object_keys(deltas)) from parent) as deltas
"""

_SAVE_WRITES: LiteralString = """
insert into checkpoint_writes
  (thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, blob)
select %(thread)s, %(ns)s, %(id)s, %(task)s, %(path)s, one.*
from unnest(%(places)s::int[], %(channels)s::text[], %(types)s::text[], %(blobs)b::bytea[]) one
on conflict (thread_id, checkpoint_ns, checkpoint_id, task_id, idx) do
"""

ADD_WRITES: LiteralString = f"{_SAVE_WRITES} nothing"

# For what has one place in a task, such as an interrupt.
REPLACE_WRITES: LiteralString = f"""{_SAVE_WRITES}
update set channel = excluded.channel, type = excluded.type, blob = excluded.blob
"""

# The versions at the oldest ancestor of a checkpoint that is there; no row, when the checkpoint itself is gone.
OLDEST_VERSIONS: LiteralString = """
with recursive line as (
  select checkpoint_id as id, parent_checkpoint_id as parent from checkpoints
  where thread_id = %(thread)s and checkpoint_ns = %(ns)s and checkpoint_id = %(id)s
  union all
  select c.checkpoint_id, c.parent_checkpoint_id from line join checkpoints c on c.checkpoint_id = line.parent
  where c.thread_id = %(thread)s and c.checkpoint_ns = %(ns)s
)
select checkpoint -> 'channel_versions' as versions from checkpoints
where thread_id = %(thread)s and checkpoint_ns = %(ns)s and checkpoint_id = (select min(id) from line)
"""

HAS_THREAD: LiteralString = "select exists (select from checkpoints where thread_id = %s) as yes"

# Times are texts that compare as times do. The second half counts only where there is a `before`.
CROWDED_THREADS: LiteralString = """
select c.thread_id from checkpoints c where c.thread_id > %(after)s
group by c.thread_id having count(*) > %(keep)s or (%(before)s::text <> '' and not exists (
  select from checkpoints n where n.thread_id = c.thread_id and n.checkpoint ->> 'ts' >= %(before)s))
order by c.thread_id limit %(limit)s
"""

# `leans`: a delta channel's value is in the writes of its ancestors. LangGraph.js counts none, but marks the threads.
CHECKPOINT_ROWS: LiteralString = """
select checkpoint_ns as ns, checkpoint_id as id, parent_checkpoint_id as parent, metadata -> 'parents' ->> '' as root,
  coalesce(checkpoint ->> 'ts', '') as at, coalesce((checkpoint ->> 'v')::int, 0) < 4 as old,
  metadata ? 'delta_writes_versioned' or exists (
    select from jsonb_object_keys(coalesce(metadata -> 'counters_since_delta_snapshot', '{}')) as channel
    where checkpoint -> 'channel_versions' ? channel
  ) as leans
from checkpoints where thread_id = %(thread)s
"""

LOCK_CHECKPOINTS: LiteralString = """
select c.checkpoint_id from checkpoints c
join unnest(%(ns)s::text[], %(ids)s::text[]) as one (ns, id) on (c.checkpoint_ns, c.checkpoint_id) = (one.ns, one.id)
where c.thread_id = %(thread)s
order by c.checkpoint_ns, c.checkpoint_id
for update of c
"""

REMOVE_CHECKPOINTS: LiteralString = f"""
with gone as (
  delete from checkpoints c using unnest(%(ns)s::text[], %(ids)s::text[]) as one (ns, id)
  where c.thread_id = %(thread)s and c.checkpoint_ns = one.ns and c.checkpoint_id = one.id
  returning {_CHECKPOINT} as bytes
)
select count(*) as rows, coalesce(sum(bytes), 0)::bigint as bytes from gone
"""

FORGET_PARENTS: LiteralString = """
update checkpoints c set parent_checkpoint_id = null
from unnest(%(ns)s::text[], %(ids)s::text[]) as one (ns, id)
where c.thread_id = %(thread)s and c.checkpoint_ns = one.ns and c.parent_checkpoint_id = one.id
"""

# A run saves the writes of its nodes apart from their checkpoint, perhaps before it: without a checkpoint, they go only
# when every checkpoint of the thread is newer. (Ids are ordered by time.)
REMOVE_WRITES: LiteralString = f"""
with gone as (
  delete from checkpoint_writes w
  where w.thread_id = %(thread)s
    and not exists (select from checkpoints c where c.thread_id = w.thread_id and c.checkpoint_ns = w.checkpoint_ns
                    and c.checkpoint_id = w.checkpoint_id)
    and (w.checkpoint_id = any(%(ids)s) or w.checkpoint_id < coalesce(
      (select min(c.checkpoint_id) from checkpoints c where c.thread_id = %(thread)s and c.checkpoint_ns = ''),
      %(last)s))
  returning {_BLOB} as bytes
)
select count(*) as rows, coalesce(sum(bytes), 0)::bigint as bytes from gone
"""

# A set operation is hashed or sorted, also with wrong estimates; `not in` could take quadratic time.
REMOVE_BLOBS: LiteralString = f"""
with unused as (
  select checkpoint_ns, channel, version from checkpoint_blobs where thread_id = %(thread)s
  except
  select c.checkpoint_ns, v.key, v.value
  from checkpoints c cross join lateral jsonb_each_text(c.checkpoint -> 'channel_versions') as v
  where c.thread_id = %(thread)s
), gone as (
  delete from checkpoint_blobs b using unused
  where b.thread_id = %(thread)s
    and (b.checkpoint_ns, b.channel, b.version) = (unused.checkpoint_ns, unused.channel, unused.version)
  returning {_BLOB} as bytes
)
select count(*) as rows, coalesce(sum(bytes), 0)::bigint as bytes from gone
"""

DELETE_THREADS: LiteralString = """
with a as (delete from checkpoints where thread_id = any(%(threads)s) returning 1),
b as (delete from checkpoint_blobs where thread_id = any(%(threads)s) returning 1),
c as (delete from checkpoint_writes where thread_id = any(%(threads)s) returning 1)
select (select count(*) from a) as checkpoints, (select count(*) from b) as checkpoint_blobs,
  (select count(*) from c) as checkpoint_writes
"""

# The supervisor stores the thread's owner in the state, and the saver that of a run in the metadata.
_OWNER: LiteralString = "checkpoint -> 'channel_values' ->> 'space'"
_SPACE: LiteralString = f"coalesce({_OWNER}, metadata ->> 'space')"

# Concurrently, as the saver's own: the table may be large and in use.
SPACES_INDEX: LiteralString = f"create index concurrently checkpoints_space_idx on checkpoints (({_SPACE}), thread_id)"

# Only the owner may create it; searches are right without it.
NEEDS_INDEX: LiteralString = """
select pg_has_role(relowner, 'usage') and not coalesce(
  (select indisvalid from pg_index where indexrelid = to_regclass('checkpoints_space_idx')), false) as yes
from pg_class where oid = to_regclass('checkpoints')
"""

# An interrupted creation leaves an invalid index.
DROP_INDEX: LiteralString = "drop index concurrently if exists checkpoints_space_idx"

# A thread without an owner belongs to the first speaker; a stranger whose run was refused does not own it.
SPACE_THREADS: LiteralString = f"""
select distinct thread_id from checkpoints c
where {_SPACE} = %(space)s and ({_OWNER} = %(space)s or not exists (
  select from (
    select checkpoint_id, {_OWNER} as owner, {_SPACE} as space from checkpoints o where o.thread_id = c.thread_id
  ) o
  where o.space <> %(space)s and (o.owner is not null or o.checkpoint_id < c.checkpoint_id)))
order by thread_id
"""

# The space of a supervisor's thread: of its owner, or without one of the first speaker. No other graph's thread has
# `asked`, or before that the branch to the supervisor's first node.
THREAD_OWNER: LiteralString = f"""
select {_SPACE} as space from checkpoints
where thread_id = %(thread)s and checkpoint_ns = '' and {_SPACE} is not null
  and checkpoint -> 'channel_versions' ? case when {_OWNER} is null then 'branch:to:context' else 'asked' end
order by {_OWNER} is null, checkpoint_id limit 1
"""

ALL_THREADS: LiteralString = "select distinct thread_id from checkpoints"

_SIZES_QUERY: LiteralString = f"""
, parts as (
  select thread_id, {_CHECKPOINT} as bytes, 1 as checkpoints, checkpoint ->> 'ts' as at
  from checkpoints natural join wanted
  union all
  select thread_id, {_BLOB}, 0, null from checkpoint_blobs natural join wanted
  union all
  select thread_id, {_BLOB}, 0, null from checkpoint_writes natural join wanted
)
select thread_id as thread, sum(checkpoints) as checkpoints, sum(bytes)::bigint as bytes, min(at) as oldest,
  max(at) as newest, count(*) over () as threads, (sum(sum(bytes)) over ())::bigint as total
from parts group by thread_id order by bytes desc, thread_id limit %(limit)s
"""

SPACE_THREAD_SIZES: LiteralString = f"with wanted as materialized ({SPACE_THREADS}) {_SIZES_QUERY}"

THREAD_SIZES: LiteralString = f"with wanted as ({ALL_THREADS}) {_SIZES_QUERY}"

NAMED_THREAD_SIZES: LiteralString = f"with wanted as (select unnest(%(threads)s::text[]) as thread_id) {_SIZES_QUERY}"

# What memory put before the model in turns of a thread, which their times name: of each the last checkpoint with it.
# Texts and numbers are in the row of a checkpoint, lists apart.
TURN_RECORDS: LiteralString = """
with turn as (
  select distinct on (values ->> 'at') values, versions from (
    select checkpoint_id, checkpoint -> 'channel_values' as values, checkpoint -> 'channel_versions' as versions
    from checkpoints where thread_id = %(thread)s and checkpoint_ns = ''
  ) c
  where values ->> 'at' = any(%(times)s) and values ->> 'rev' is not null
  order by values ->> 'at', checkpoint_id desc
)
select t.values ->> 'at' as at, (t.values ->> 'rev')::bigint as rev, t.values ->> 'stable' as stable,
  t.values ->> 'header' as header, t.values ->> 'moving' as moving, b.type, b.blob as shown
from turn t left join checkpoint_blobs b on b.thread_id = %(thread)s and b.checkpoint_ns = ''
  and b.channel = 'shown' and b.version = t.versions ->> 'shown'
"""

# The last checkpoint of a turn that has read memory, by the time of its beginning.
TURN_CHECKPOINT: LiteralString = """
select checkpoint_id from checkpoints
where thread_id = %(thread)s and checkpoint_ns = '' and checkpoint -> 'channel_values' ->> 'at' = %(at)s
  and checkpoint -> 'channel_values' ->> 'rev' is not null
order by checkpoint_id desc limit 1
"""

# Each thread of the supervisor as it is now; `user_id` is its space, a hash of tenant and owner.
CREATE_THREADS_VIEW: LiteralString = f"""
create view supervisor_checkpoints as
select c.checkpoint_id::uuid as id, {_SPACE} as user_id, c.thread_id,
  c.checkpoint || jsonb_build_object('metadata', c.metadata) as checkpoint_data,
  first.at as created_at, (c.checkpoint ->> 'ts')::timestamptz as updated_at
from checkpoints c cross join lateral (
  select (f.checkpoint ->> 'ts')::timestamptz as at from checkpoints f
  where f.thread_id = c.thread_id and f.checkpoint_ns = '' order by f.checkpoint_id limit 1
) first
where {_SPACE} is not null and c.checkpoint_ns = '' and not exists (
  select from checkpoints l
  where l.thread_id = c.thread_id and l.checkpoint_ns = '' and l.checkpoint_id > c.checkpoint_id)
"""

NEEDS_THREADS_VIEW: LiteralString = """
select pg_has_role(relowner, 'usage') and has_schema_privilege(relnamespace, 'create')
  and to_regclass('supervisor_checkpoints') is null as yes
from pg_class where oid = to_regclass('checkpoints')
"""

# Whether the login may create no table in the schema, which another one owns.
IS_RESTRICTED: LiteralString = """
select exists (
  select from pg_catalog.pg_namespace where nspname = 'checkpoints' and not has_schema_privilege(oid, 'create')) as yes
"""

HAS_TABLES: LiteralString = """
select count(*) = 5 as yes from pg_catalog.pg_class
where relnamespace = (select oid from pg_catalog.pg_namespace where nspname = 'checkpoints') and relkind = 'r'
  and relname in ('checkpoint_migrations', 'checkpoints', 'checkpoint_blobs', 'checkpoint_writes', 'janitor')
"""

HAS_INDEX_AND_VIEW: LiteralString = """
select count(*) = 2 as yes from pg_catalog.pg_class c left join pg_catalog.pg_index i on i.indexrelid = c.oid
where c.relnamespace = (select oid from pg_catalog.pg_namespace where nspname = 'checkpoints')
  and (c.relname = 'checkpoints_space_idx' and i.indisvalid or c.relname = 'supervisor_checkpoints')
"""

# First in a transaction whose session may have other settings.
SET_SEARCH_PATH: LiteralString = """
select set_config('search_path', %s, true), set_config('idle_in_transaction_session_timeout',
  coalesce(%s, current_setting('idle_in_transaction_session_timeout')), true)
"""

# Held for a whole round, in a transaction that does nothing else and may be idle for long.
TRY_LOCK: LiteralString = """
select set_config('idle_in_transaction_session_timeout', '0', true), pg_try_advisory_xact_lock(%s) as yes
"""

# The holder of the lock: its Postgres process and the start of its transaction.
LOCK_HOLDER: LiteralString = """
select a.pid, a.xact_start as since
from pg_catalog.pg_locks l join pg_catalog.pg_stat_activity a using (pid), lateral (select %s::bigint as key) k
where l.locktype = 'advisory' and l.granted and l.objsubid = 1
  and l.database = (select oid from pg_catalog.pg_database where datname = current_database())
  and l.classid = ((k.key >> 32) & 4294967295)::oid and l.objid = (k.key & 4294967295)::oid
"""

CREATE_JANITOR: LiteralString = """
create table if not exists janitor (
  single boolean primary key default true check (single), came_at timestamptz not null
)
"""

CLAIM_ROUND: LiteralString = """
insert into janitor (came_at) values (now()) on conflict (single) do update set came_at = now()
where janitor.came_at <= now() - make_interval(secs => %s)
returning true as yes
"""
