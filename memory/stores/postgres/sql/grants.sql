-- name: is_granted (whether a login has what it needs)
select not exists (
    select from unnest(array['muniment_app', 'muniment_keeper', 'muniment_eraser', 'muniment_worker']) role
    where not pg_has_role(%(login)s, role, 'member'))
  and not r.rolinherit and has_schema_privilege(%(login)s, n.oid, 'usage')
  and exists (
    select from pg_catalog.pg_default_acl d, aclexplode(d.defaclacl) a where d.defaclnamespace = n.oid
    and a.grantee = r.oid and a.privilege_type = 'DELETE') as granted
from pg_catalog.pg_roles r left join pg_catalog.pg_namespace n on n.nspname = 'checkpoints'
where r.rolname = %(login)s

-- name: lacking (in which of the engine's roles a login may not work)
select l.login, array_agg(role) filter (where not pg_has_role(l.login, role, 'member')) as roles
from (select coalesce(%(login)s, current_user::text) as login) l,
  unnest(array['muniment_app', 'muniment_keeper', 'muniment_eraser', 'muniment_worker']) role
where exists (select from pg_catalog.pg_roles r where r.rolname = l.login) group by 1

-- name: strength (whether a login is more than it should be: a superuser, a role that sees all rows, or an owner)
select r.rolsuper or r.rolbypassrls or exists (
    select from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where n.nspname in ('muniment', 'jobs', 'checkpoints') and pg_has_role(r.oid, c.relowner, 'member')) as strong
from pg_catalog.pg_roles r where r.rolname = %(login)s
