-- The same schema on a Citus cluster: every table that leads with space_id becomes a table distributed by it, all in one
-- colocation group, so that whatever concerns one space stays on one node. Opt-in and by hand; nothing applies it.
--
--   psql -v ON_ERROR_STOP=1 -f distribute.sql "$COORDINATOR_AS_ITS_OWNER"
--
-- after `muniment migrate` on the coordinator, the first time and each time that this applied something: a migration may bring
-- back a function that `functions.sql`, which lies beside this file, replaces. Restartable: what is distributed already is
-- left alone. `-v shards=32` makes fewer shards than 64. What was run, and what does not work: docs/scale.md.
\if :{?shards}
\else
\set shards 64
\endif
create extension if not exists citus;

-- Settings made inside a transaction go with it to the nodes: row-level security there reads app.spaces.
select format('alter database %I set citus.propagate_set_commands = %L', current_database(), 'local') \gexec
set citus.propagate_set_commands = 'local';

-- A migration that changes a table and then a function needs one connection to each node.
select format('alter role %I in database %I set citus.multi_shard_modify_mode = %L', current_user, current_database(), 'sequential')
\gexec

-- The coordinator reaches the nodes in the name of the role that asks: these four have to be able to log in there. Their
-- passwords, or certificates, belong into pg_dist_authinfo or the nodes' pg_hba.conf, not into this file.
alter role muniment_app login;
alter role muniment_keeper login;
alter role muniment_eraser login;
alter role muniment_issuer login;

-- As which each of them works on a node: what a connection of the pool sets for itself stays on the coordinator. A nested
-- statement is a look at the space that is entered, which is on the node, and at the embedders, of which each node has its own copy.
select format('alter role %I in database %I set %s = %L', rolname, current_database(), name, value)
from pg_roles, (values
  ('citus.allow_nested_distributed_execution', 'on'), ('enable_seqscan', 'off'), ('jit', 'off'),
  ('hnsw.iterative_scan', 'relaxed_order'), ('work_mem', '16MB'), ('timezone', 'UTC')) setting (name, value)
where rolname in ('muniment_app', 'muniment_keeper', 'muniment_eraser', 'muniment_issuer') \gexec

-- A job that depends on what is in a space is inserted from a select: Citus takes the number from the sequence in the name of who asks.
grant usage on sequence jobs.queue_id_seq to muniment_app;

-- What policies and statements call must be on every node.
select create_distributed_function(p.oid::regprocedure)
from pg_proc p join pg_namespace n on n.oid = p.pronamespace
where n.nspname = 'muniment' and p.proname in ('enter_space', 'my_spaces', 'all_categories', 'my_categories', 'refuse',
  'expect_embedder', 'find_model', 'has_own_models', 'my_tenant', 'sees_edge', 'speaker_dimension', 'apply_changes',
  'commit_memories', 'keep_observations', 'list_positions', 'project_changes', 'read_cursor', 'revision_before', 'time_after',
  'has_ended', 'enter_shared', 'session_of', 'keep_sessions', 'advance_session', 'find_recorded', 'find_new_messages', 'write_changes',
  'seal_lines', 'seal_lines_in_utf8', 'seal_space', 'private_meta', 'make_salt', 'digest_space', 'digest_held', 'find_seal', 'open_reseals',
  'fill_reseals', 'close_reseals');

-- The policies as the migrations made them, for `undistribute.sql`. One that has been changed below has a name that is here already.
create table if not exists public.policies_before_citus (
  place text not null, name text not null, text text not null, comment text,
  constraint policies_before_citus_pk primary key (place, name)
);
insert into public.policies_before_citus
select p.tablename, p.policyname, format('create policy %I on %I.%I as %s for %s to %s', p.policyname, p.schemaname, p.tablename,
    p.permissive, p.cmd, (select string_agg(quote_ident(role), ', ') from unnest(p.roles) role))
  || coalesce(' using (' || p.qual || ')', '') || coalesce(' with check (' || p.with_check || ')', ''),
  obj_description(o.oid, 'pg_policy')
from pg_policies p join pg_policy o on o.polname = p.policyname and o.polrelid = format('%I.%I', p.schemaname, p.tablename)::regclass
where p.schemaname = 'muniment' and not exists (
  select from public.policies_before_citus b
  where b.place = p.tablename and p.policyname in (b.name, b.name || '_' || lower(p.cmd)));

-- Citus makes a policy on the nodes without its "as restrictive": there it would let pass what it is to hold back. So what it asks
-- for goes into each policy that it restricts, which becomes one policy for each kind of statement.
--
-- And Citus takes no subquery in a policy: there each function is called as it is. A node plans a search before it has entered
-- the space: the planner, which asks such a function, would take any row for one that nobody sees, and any index for as good as
-- another. Of `array_position` it takes no such thing. What all policies together let pass stays the same.
do $$
declare
  made text;
begin
  if exists (select from pg_policies where schemaname = 'muniment' and policyname = 'relations_reader') then
    alter policy relations_reader on muniment.relations
      using ((select muniment.all_categories()) or muniment.sees_edge(space_id, from_id, to_id));
  end if;
  foreach made in array coalesce((
    with part as (
      select p.policyname, format('%I.%I', p.schemaname, p.tablename) as place, p.roles, verb,
        concat_ws(' and ', p.qual, string_agg(r.qual, ' and ')) as let,
        concat_ws(' and ', coalesce(p.with_check, p.qual), string_agg(coalesce(r.with_check, r.qual), ' and ')) as checked,
        sum(count(r.policyname)) over (partition by p.schemaname, p.tablename, p.policyname) > 0 as restricted
      from pg_policies p cross join unnest('{SELECT,INSERT,UPDATE,DELETE}'::text[]) verb
      left join pg_policies r on r.permissive = 'RESTRICTIVE' and r.roles && p.roles and r.cmd in ('ALL', verb)
        and (r.schemaname, r.tablename) = (p.schemaname, p.tablename)
      where p.schemaname = 'muniment' and p.permissive = 'PERMISSIVE' and p.cmd in ('ALL', verb)
      group by p.schemaname, p.tablename, p.policyname, p.roles, p.qual, p.with_check, verb
    ), step (n, text) as (
      select distinct 1, format('drop policy %I on %s', policyname, place) from part where restricted
      union all
      select 2, format('create policy %I on %s for %s to %s', policyname || '_' || lower(verb), place, verb,
          (select string_agg(quote_ident(name), ', ') from unnest(roles) name))
        || case when verb <> 'INSERT' then format(' using (%s)', let) else '' end
        || case when verb in ('INSERT', 'UPDATE') then format(' with check (%s)', checked) else '' end
      from part where restricted
      union all
      select 3, format('drop policy %I on %I.%I', policyname, schemaname, tablename)
      from pg_policies where schemaname = 'muniment' and permissive = 'RESTRICTIVE'
    )
    select array_agg(text order by n, text) from step), '{}')
  loop
    execute made;
  end loop;
  foreach made in array coalesce((
    select array_agg(format('alter policy %I on %I.%I', policyname, schemaname, tablename)
      || coalesce(' using (' || let || ')', '') || coalesce(' with check (' || checked || ')', ''))
    from pg_policies, lateral (
      select regexp_replace(regexp_replace(qual, called, plainly, 'g'), among, sought, 'g'),
        regexp_replace(regexp_replace(with_check, called, plainly, 'g'), among, sought, 'g')
      from (values (  -- without the schema, as it is told to a role that is called `muniment`
        '\( SELECT (?:muniment\.)?(\w+\(\)) AS \w+\)', 'muniment.\1',
        '(space_id|category) = ANY \((?:muniment\.)?(\w+\(\))(?:::\w+\[\])?\)', 'array_position(muniment.\2, \1) is not null'
      )) c (called, plainly, among, sought)
    ) said (let, checked)
    where schemaname = 'muniment' and (let, checked) is distinct from (qual, with_check)), '{}')
  loop
    execute made;
  end loop;
end $$;

-- Lookup data of a handful of rows: a copy on each node. Tokens, logins of the console and settings stay on the coordinator, where
-- they are looked up.
select create_reference_table('muniment.embedders')
where not exists (select from pg_dist_partition where logicalrelid = 'muniment.embedders'::regclass);
select create_reference_table('muniment.tenant_embedders')
where not exists (select from pg_dist_partition where logicalrelid = 'muniment.tenant_embedders'::regclass);

-- The first makes the colocation group, and is what the others refer to.
select create_distributed_table('muniment.spaces', 'space_id', shard_count => :shards)
where not exists (select from pg_dist_partition where logicalrelid = 'muniment.spaces'::regclass);

-- `memories` before what refers to it; each in a transaction of its own.
select format('select create_distributed_table(%L, %L, colocate_with => %L)', 'muniment.' || name, 'space_id', 'muniment.spaces')
from unnest(array[
  'memories', 'memory_versions', 'journal', 'relations', 'thread_revision', 'turns', 'extractions', 'events',
  'consent_requests', 'spend', 'spend_days', 'swept', 'postings', 'consolidation_runs', 'pair_fingerprints', 'erasures',
  'requests', 'items', 'sessions', 'shares', 'observations', 'projections', 'proxy_days', 'host_items',
  'plugin_turns', 'plugin_switches', 'plugin_audit', 'seals', 'reseals', 'bisect_replies'
]) with ordinality t (name, n)
where not exists (select from pg_dist_partition where logicalrelid = ('muniment.' || name)::regclass)
order by n \gexec

-- Who takes rows of a table comes after the table.
select create_distributed_function(p.oid::regprocedure)
from pg_proc p join pg_namespace n on n.oid = p.pronamespace
where n.nspname = 'muniment' and p.proname in ('rank_projections', 'digest_content', 'digest_line');

-- A write is one call of one function: called by itself, it runs where the space is, in one round trip from the coordinator.
select create_distributed_function(p.oid::regprocedure, 'at_space', colocate_with => 'muniment.spaces')
from pg_proc p join pg_namespace n on n.oid = p.pronamespace
where n.nspname = 'muniment' and p.proname in ('commit_plan', 'record_turns', 'number_turns', 'append_messages');

\ir functions.sql
