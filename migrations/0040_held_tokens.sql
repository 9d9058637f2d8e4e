-- What is written into the memory of a token while the token is deleted. Who founds the space of such a token, or appends to its
-- stream, holds the token until the end of the transaction. A deletion waits for it and erases what it wrote; after the deletion
-- nothing is written any more, and the space of an erased token is never founded again.
create function muniment.hold_token(tenant text) returns boolean language plpgsql volatile
security definer set search_path = pg_catalog, pg_temp set app.spaces = '' as $$
begin
  if muniment.has_own_models(tenant) then
    perform from muniment.tokens t where t.token_id = substr(tenant, 7)::uuid and t.revoked_at is null for share;
    if not found then
      raise exception using errcode = 'MU005', message = 'the token of this memory is deleted';
    end if;
  end if;
  return true;
end $$;
comment on function muniment.hold_token(text) is
  'Holds the token of a tenant against its deletion until the transaction ends; true for a tenant of no token. Raises MU005 for a token '
  'that is revoked or gone. It runs as the issuer: who writes learns no more.';
revoke all on function muniment.hold_token(text) from public;
-- The next owner of a function needs the right to create in its schema, at this moment only.
grant create on schema muniment to muniment_issuer;
alter function muniment.hold_token(text) owner to muniment_issuer;
revoke create on schema muniment from muniment_issuer;
grant execute on function muniment.hold_token(text) to muniment_app;
