-- Shares: who may read the space of a project or an agent beside the own one. The server says it, never a request. A share is of no
-- space's content: it is not exported, and an import makes none.
create table muniment.shares (
  space_id uuid not null,
  reader_id uuid not null,
  tenant_id text not null,
  owner_type text not null,
  owner_id text not null,
  reader_type text,
  reader text,
  granted_by text not null,
  since timestamptz not null,
  constraint shares_pk primary key (space_id, reader_id),
  constraint shares_owner_type check (owner_type in ('agent', 'project')),
  constraint shares_reader_type check (reader_type in ('user', 'agent', 'project')),
  constraint shares_reader check ((reader is null) = (reader_type is null))
);
comment on table muniment.shares is 'A row says that somebody may read a space beside their own. Written by `muniment share`.';
comment on column muniment.shares.space_id is 'The space that is shared.';
comment on column muniment.shares.reader_id is 'The space of who may read it; that of the tenant: everybody of the tenant.';
comment on column muniment.shares.tenant_id is 'The tenant of both.';
comment on column muniment.shares.owner_type is 'Whose space is shared: agent, project.';
comment on column muniment.shares.owner_id is 'The name of its owner.';
comment on column muniment.shares.reader_type is 'Who may read: user, agent, project; null: everybody of the tenant.';
comment on column muniment.shares.reader is 'The name of who may read; null: everybody of the tenant.';
comment on column muniment.shares.granted_by is 'Who has granted it.';
comment on column muniment.shares.since is 'Since when.';

alter table muniment.shares enable row level security;
alter table muniment.shares force row level security;
create policy shares_own on muniment.shares for select to muniment_app
  using (space_id = any((select muniment.my_spaces())::uuid[]) and (select muniment.all_categories()));
comment on policy shares_own on muniment.shares is
  'The application reads who may read the space that it has entered; who has an allowlist of categories sees no row.';
create policy shares_issuer on muniment.shares to muniment_issuer
  using ((select muniment.my_spaces()) is null) with check ((select muniment.my_spaces()) is null);
comment on policy shares_issuer on muniment.shares is 'The issuer reads and writes all shares in transactions that enter no space.';
create policy shares_eraser on muniment.shares to muniment_eraser
  using ((space_id = any((select muniment.my_spaces())::uuid[]) or reader_id = any((select muniment.my_spaces())::uuid[]))
    and (select muniment.all_categories()));
comment on policy shares_eraser on muniment.shares is
  'The eraser sees and removes the shares of the space that it has entered, and those by which it reads others.';
grant select on muniment.shares to muniment_app;
grant select, insert, update, delete on muniment.shares to muniment_issuer;
grant select, delete on muniment.shares to muniment_eraser;

-- Never with all categories: who reads beside writes nothing.
create function muniment.enter_shared(wanted uuid, readers uuid[], tenant text, allowed text[]) returns text language plpgsql as $$
declare
  shared boolean;
  known boolean;
begin
  perform muniment.enter_space(wanted);
  select count(*) > 0, coalesce(bool_or(s.reader_id = any(readers) and s.tenant_id = tenant), false) into known, shared
  from muniment.shares s where s.space_id = wanted;
  if shared and exists (select from muniment.spaces s where s.space_id = wanted and s.tenant_id = tenant) then
    perform muniment.enter_space(wanted, coalesce(allowed, '{}'));
    return 'granted';
  end if;
  execute 'set local app.spaces = ''''';
  execute 'set local app.categories = ''{}''';
  return case when known then 'denied' else 'unshared' end;
end $$;
comment on function muniment.enter_shared(uuid, uuid[], text, text[]) is
  'Enters a space of the same tenant that is shared with one of the readers, with the allowed categories; else none, and says why.';
