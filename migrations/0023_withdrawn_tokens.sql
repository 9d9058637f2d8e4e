-- Whoever erases a user removes the tokens that speak for the user, too: they have the user's name. The eraser still reads no token.
-- And the application asks whether a token is still valid by its id: of what goes on in the name of its user later, as a cron does.
grant delete on muniment.tokens to muniment_issuer;

create function muniment.erase_tokens(tenant text, owner text) returns bigint language sql volatile
security definer set search_path = pg_catalog, pg_temp set app.spaces = '' as $$
  with gone as (delete from muniment.tokens t where t.tenant_id = tenant and t.owner_id = owner returning 1)
  select count(*) from gone
$$;
comment on function muniment.erase_tokens(text, text) is
  'Removes the tokens that speak for a user, and returns how many. It runs as the issuer: who erases learns a number.';
revoke all on function muniment.erase_tokens(text, text) from public;

create function muniment.is_valid_token(wanted uuid, at timestamptz) returns boolean language sql stable
security definer set search_path = pg_catalog, pg_temp as $$
  select exists (select from muniment.tokens t where t.token_id = wanted and t.revoked_at is null
    and (t.expires_at is null or t.expires_at > at))
$$;
comment on function muniment.is_valid_token(uuid, timestamptz) is
  'Whether the token with this id is neither revoked nor expired nor gone. It runs as the issuer: who asks learns no more.';
revoke all on function muniment.is_valid_token(uuid, timestamptz) from public;

-- The next owner of a function needs the right to create in its schema, at this moment only.
grant create on schema muniment to muniment_issuer;
alter function muniment.erase_tokens(text, text) owner to muniment_issuer;
alter function muniment.is_valid_token(uuid, timestamptz) owner to muniment_issuer;
revoke create on schema muniment from muniment_issuer;
grant execute on function muniment.erase_tokens(text, text) to muniment_eraser;
grant execute on function muniment.is_valid_token(uuid, timestamptz) to muniment_app;
