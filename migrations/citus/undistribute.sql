-- Brings all tables of a Citus cluster back to its coordinator, with their rows: a plain database again.
--
--   psql -v ON_ERROR_STOP=1 -f undistribute.sql "$COORDINATOR_AS_ITS_OWNER"
--
-- Before a `muniment migrate` that changes a policy, which Citus refuses for a distributed table, and `distribute.sql` after it;
-- or to leave Citus. It is one transaction; nobody writes meanwhile, and the coordinator needs room for all rows.
do $$
declare
  place regclass;
  made text;
begin
  set local citus.multi_shard_modify_mode = 'sequential';
  set local client_min_messages = error;
  revoke usage on sequence jobs.queue_id_seq from muniment_app;
  set local check_function_bodies = off;  -- one may call another that comes after it
  -- Each table is made anew. The former one takes along the functions that return its rows, the rights to views, and comments.
  create temp table kept on commit drop as
  select 1 as n, p.oid::regprocedure::text as missing, pg_get_functiondef(p.oid) as text
  from pg_proc p where p.pronamespace = 'muniment'::regnamespace and p.prokind <> 'a'
  union all
  select 2, p.oid::regprocedure::text,
    format('comment on function %s is %L', p.oid::regprocedure, obj_description(p.oid, 'pg_proc'))
  from pg_proc p where p.pronamespace = 'muniment'::regnamespace and p.prokind <> 'a'
  union all
  select 3, '', format('grant %s on %s to %s', a.privilege_type, c.oid::regclass, a.grantee::regrole)
  from pg_class c, aclexplode(c.relacl) a where c.relnamespace = 'muniment'::regnamespace and c.relkind = 'v'
  union all
  select 4, '', format('comment on %s %s is %L', case when a.attname is not null then 'column' when c.relkind = 'v' then 'view'
    else 'table' end, c.oid::regclass || coalesce('.' || quote_ident(a.attname), ''), d.description)
  from pg_description d join pg_class c on c.oid = d.objoid and d.classoid = 'pg_class'::regclass
  left join pg_attribute a on a.attrelid = c.oid and a.attnum = d.objsubid and d.objsubid > 0
  where c.relnamespace = 'muniment'::regnamespace and c.relkind in ('r', 'v');
  loop
    place := (
      select p.logicalrelid from pg_dist_partition p join pg_class c on c.oid = p.logicalrelid
      where c.relnamespace = 'muniment'::regnamespace order by c.relname limit 1);
    exit when place is null;
    perform undistribute_table(place, cascade_via_foreign_keys => true);
  end loop;
  for made in
    select text from kept where n > 2 or to_regprocedure(missing) is null order by n
  loop
    execute made;
  end loop;
  if to_regclass('public.policies_before_citus') is not null then  -- a former version of the script did not write it
    for made in
      select format('drop policy %I on %I.%I', policyname, schemaname, tablename)
      from pg_policies where schemaname = 'muniment'
    loop
      execute made;
    end loop;
    for made in
      select b.text || ';' || format('comment on policy %I on muniment.%I is %L', b.name, b.place, b.comment)
      from public.policies_before_citus b
    loop
      execute made;
    end loop;
    drop table public.policies_before_citus;
  end if;
end $$;
