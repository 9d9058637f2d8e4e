-- Who could read the memory of a user. Tokens and logins of the console are in no space, and only the issuer reads them; who has entered a space with
-- all categories is told of those that open it, without a digest, and of the spaces that its owner reads beside it.
grant select (space_id, tenant_id, owner_id, owner_type) on muniment.spaces to muniment_issuer;
create policy spaces_issuer on muniment.spaces for select to muniment_issuer
  using (space_id = any((select muniment.my_spaces())::uuid[]) and (select muniment.all_categories()));
comment on policy spaces_issuer on muniment.spaces is
  'The issuer sees whose the entered space is: describe_readers tells of no other one.';

create function muniment.list_openings(tenant text, owner text, space uuid) returns jsonb language sql stable
security definer set search_path = pg_catalog, pg_temp set app.spaces = '' as $$
  select jsonb_build_object(
    'tokens', (
      select coalesce(jsonb_agg(jsonb_build_object(
        'token_id', t.token_id, 'owner', t.owner_id, 'agents', t.agents, 'scopes', t.scopes, 'projects', t.projects,
        'created_at', t.created_at, 'expires_at', t.expires_at, 'revoked_at', t.revoked_at,
        'logins', (
          select coalesce(jsonb_agg(jsonb_build_object('since', s.created_at, 'last_used_at', s.last_used_at,
            'until', s.expires_at) order by s.created_at), '[]')
          from muniment.console_sessions s where s.token_id = t.token_id)) order by t.created_at, t.token_id), '[]')
      from muniment.tokens t
      where t.tenant_id = tenant and (t.owner_id is null or t.owner_id = owner
        or cardinality(string_to_array(owner, '/')) = 3 and t.owner_id = split_part(owner, '/', 1))),
    'beside', (
      select coalesce(jsonb_agg(jsonb_build_object('owner_type', s.owner_type, 'owner', s.owner_id, 'granted_by', s.granted_by,
        'since', s.since) order by s.since, s.space_id), '[]')
      from muniment.shares s where s.reader_id = space))
$$;
comment on function muniment.list_openings(text, text, uuid) is
  'The tokens that open the memory of a user, which may be that of an app and project of the gateway, with their logins, and what the owner reads beside it. It runs as the issuer, who alone may call it.';
revoke all on function muniment.list_openings(text, text, uuid) from public;

create function muniment.describe_readers() returns jsonb language plpgsql stable
security definer set search_path = pg_catalog, pg_temp as $$
declare
  entered muniment.spaces.space_id%type;
  tenant text;
  owner text;
begin
  select s.space_id, s.tenant_id, s.owner_id into entered, tenant, owner from muniment.spaces s
  where s.space_id = any(muniment.my_spaces()) and s.owner_type = 'user';
  return muniment.list_openings(tenant, owner, entered);
end $$;
comment on function muniment.describe_readers() is
  'Who can read the entered space by a token, and what its owner reads beside it; with empty lists where nothing was ever written. It runs as the issuer.';
revoke all on function muniment.describe_readers() from public;

-- The next owner of a function needs the right to create in its schema, at this moment only.
grant create on schema muniment to muniment_issuer;
alter function muniment.list_openings(text, text, uuid) owner to muniment_issuer;
alter function muniment.describe_readers() owner to muniment_issuer;
revoke create on schema muniment from muniment_issuer;
grant execute on function muniment.describe_readers() to muniment_app;
