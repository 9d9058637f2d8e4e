-- Whoever erases a user removes the tokens that speak for the user, too: they have the user's name. The eraser still reads no token.
grant delete on muniment.tokens to muniment_issuer;

create function muniment.erase_tokens(tenant text, owner text) returns bigint language sql volatile
security definer set search_path = pg_catalog, pg_temp set app.spaces = '' as $$
  with gone as (delete from muniment.tokens t where t.tenant_id = tenant and t.owner_id = owner returning 1)
  select count(*) from gone
$$;
comment on function muniment.erase_tokens(text, text) is
  'Removes the tokens that speak for a user, and returns how many. It runs as the issuer: who erases learns a number.';
revoke all on function muniment.erase_tokens(text, text) from public;
-- The next owner of a function needs the right to create in its schema, at this moment only.
grant create on schema muniment to muniment_issuer;
alter function muniment.erase_tokens(text, text) owner to muniment_issuer;
revoke create on schema muniment from muniment_issuer;
grant execute on function muniment.erase_tokens(text, text) to muniment_eraser;
