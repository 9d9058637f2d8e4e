-- What the engine's login needs, and nothing else: it owns nothing, and works in roles that own nothing. By hand on a server of your own,
-- after `muniment migrate`, as the login that owns the tables:
--
--   create role muniment_engine login noinherit password '…';
--   psql -v ON_ERROR_STOP=1 -v login=muniment_engine -f grant.sql "$MUNIMENT_OWNER_URL"
--
-- `muniment grant muniment_engine` does the same. May be repeated.

-- Without `inherit` the login has the rights of a role only while it works in it.
alter role :"login" noinherit;
grant muniment_app, muniment_keeper, muniment_eraser, muniment_worker to :"login";

-- The checkpoints of threads, which LangGraph's saver keeps in tables of its own.
create schema if not exists checkpoints;
grant usage on schema checkpoints to :"login";
grant select, insert, update, delete on all tables in schema checkpoints to :"login";
alter default privileges in schema checkpoints grant select, insert, update, delete on tables to :"login";
