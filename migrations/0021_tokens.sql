-- Tokens: for whom a request speaks. A token itself is not kept, only its HMAC under a key that is in no database. They are looked
-- up before a space is known, so they are in none. Only the issuer reads the table; the application asks for one digest. The login
-- with which the engine works is no member of the issuer.
do $$
begin
  if not exists (select from pg_roles where rolname = 'muniment_issuer') then
    create role muniment_issuer nologin nosuperuser nobypassrls nocreatedb nocreaterole;
  end if;
exception when duplicate_object or unique_violation then
  null;  -- another database of this cluster made it at the same moment
end $$;
do $$
begin
  execute format('grant muniment_issuer to %I', current_user);
end $$;
grant usage on schema muniment to muniment_issuer;

create table muniment.tokens (
  token_id uuid not null,
  digest bytea not null,
  tenant_id text not null,
  owner_id text,
  agents text[] not null,
  scopes text[] not null,
  created_at timestamptz not null,
  expires_at timestamptz,
  revoked_at timestamptz,
  constraint tokens_pk primary key (token_id),
  constraint tokens_digest_length check (octet_length(digest) = 32),
  constraint tokens_scopes check (cardinality(scopes) > 0 and scopes <@ array['read', 'write', 'admin'])
);
create unique index tokens_digest on muniment.tokens (digest);
comment on table muniment.tokens is 'A row is a token by its digest, and what it permits. Written by `muniment token`.';
comment on column muniment.tokens.token_id is 'The id by which the token is listed and revoked.';
comment on column muniment.tokens.digest is 'HMAC-SHA256 of the token under the key file of the installation.';
comment on column muniment.tokens.tenant_id is 'The tenant for which the token speaks.';
comment on column muniment.tokens.owner_id is 'The user for whom the token speaks; null: for no user by itself.';
comment on column muniment.tokens.agents is 'The agents through which it may ask; none: all.';
comment on column muniment.tokens.scopes is 'What it may do: read, write, admin.';
comment on column muniment.tokens.created_at is 'When the token was made.';
comment on column muniment.tokens.expires_at is 'From when on it is refused; null: never.';
comment on column muniment.tokens.revoked_at is 'When it was revoked; null: it was not.';

alter table muniment.tokens enable row level security;
alter table muniment.tokens force row level security;
create policy tokens_issuer on muniment.tokens to muniment_issuer
  using ((select muniment.my_spaces()) is null) with check ((select muniment.my_spaces()) is null);
comment on policy tokens_issuer on muniment.tokens is 'The issuer reads and writes all tokens in transactions that enter no space; nobody else reads any.';
grant select, insert, update on muniment.tokens to muniment_issuer;

create function muniment.find_token(wanted bytea) returns setof muniment.tokens
language sql stable rows 1 security definer set search_path = pg_catalog, pg_temp as $$
  select t.* from muniment.tokens t where t.digest = wanted
$$;
comment on function muniment.find_token(bytea) is
  'What the token with this digest permits. It runs as the issuer: who has no token learns of none.';
revoke all on function muniment.find_token(bytea) from public;
-- The next owner of a function needs the right to create in its schema, at this moment only.
grant create on schema muniment to muniment_issuer;
alter function muniment.find_token(bytea) owner to muniment_issuer;
revoke create on schema muniment from muniment_issuer;
grant execute on function muniment.find_token(bytea) to muniment_app;
