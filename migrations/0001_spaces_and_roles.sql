-- Extension, roles, and the door through which every transaction enters a space.
create extension if not exists vector;

do $$
begin
  if not exists (select from pg_roles where rolname = 'muniment_app') then
    create role muniment_app nologin nosuperuser nobypassrls nocreatedb nocreaterole;
  end if;
  if not exists (select from pg_roles where rolname = 'muniment_keeper') then
    create role muniment_keeper nologin nosuperuser nobypassrls nocreatedb nocreaterole;
  end if;
exception when duplicate_object or unique_violation then
  null;  -- another database of this cluster made them at the same moment
end $$;

do $$
begin
  execute format('grant muniment_app, muniment_keeper to %I', current_user);
end $$;

create schema muniment;
grant usage on schema muniment to muniment_app, muniment_keeper;

-- Settings made here end with the transaction, so they cannot leak through a pool. `allowed` null: a writer, no allowlist.
create function muniment.enter_space(space uuid, allowed text[] default null) returns void
language plpgsql as $$
begin
  execute format('set local app.spaces = %L', array[space]::text);
  execute format('set local app.categories = %L', coalesce(allowed::text, '*'));
end $$;

-- Both fail closed: without enter_space there is no space and no category.
create function muniment.my_spaces() returns uuid[] language sql stable parallel safe as
$$ select nullif(current_setting('app.spaces', true), '')::uuid[] $$;

create function muniment.all_categories() returns boolean language sql stable parallel safe as
$$ select coalesce(current_setting('app.categories', true) = '*', false) $$;

create function muniment.my_categories() returns text[] language sql stable parallel safe as
$$ select case when current_setting('app.categories', true) in ('', '*') then null
          else current_setting('app.categories', true)::text[] end $$;

create table muniment.spaces (
  space_id uuid not null,
  tenant_id text not null,
  owner_id text not null,
  owner_type text not null,
  rev bigint not null default 0,
  created_at timestamptz not null,
  constraint spaces_pk primary key (space_id),
  constraint spaces_owner_type check (owner_type in ('user', 'agent', 'project'))
) with (fillfactor = 50);

-- Which embedding model the vectors come from. Global lookup data: no user table refers to it.
create table muniment.embedders (
  model text not null,
  active boolean not null default false,
  created_at timestamptz not null default now(),
  constraint embedders_pk primary key (model)
);
create unique index embedders_one_active on muniment.embedders (active) where active;

alter table muniment.spaces enable row level security;
alter table muniment.spaces force row level security;
create policy spaces_own on muniment.spaces to muniment_app
  using (space_id = any((select muniment.my_spaces())::uuid[]))
  with check (space_id = any((select muniment.my_spaces())::uuid[]));
create policy spaces_keeper on muniment.spaces for select to muniment_keeper using (true);

grant select, insert, update on muniment.spaces to muniment_app;
grant select on muniment.spaces to muniment_keeper;
grant select, insert, update on muniment.embedders to muniment_app;
