-- Logins of the console: a browser that has shown a token once, by a digest of its cookie. They are looked up before a space is
-- known, so they are in none; only the issuer reads the table, as with tokens. The application opens, finds and ends one by its
-- digest. A session of a token that is revoked, expired or gone opens nothing.
create table muniment.console_sessions (
  digest bytea not null,
  token_id uuid not null,
  created_at timestamptz not null,
  last_used_at timestamptz not null,
  expires_at timestamptz not null,
  constraint console_sessions_pk primary key (digest),
  constraint console_sessions_token_fk foreign key (token_id) references muniment.tokens (token_id) on delete cascade,
  constraint console_sessions_digest_length check (octet_length(digest) = 32)
);
create index console_sessions_by_token on muniment.console_sessions (token_id);
create index console_sessions_by_end on muniment.console_sessions (expires_at);
comment on table muniment.console_sessions is 'A row is a browser that is logged in to the console, by a digest of its cookie. Removed at log-out, or when it is over.';
comment on column muniment.console_sessions.digest is 'HMAC-SHA256 of the value of the cookie under the key file of the installation.';
comment on column muniment.console_sessions.token_id is 'The token that was shown: the session permits what it permits.';
comment on column muniment.console_sessions.created_at is 'When the token was shown.';
comment on column muniment.console_sessions.last_used_at is 'When it was last used, to the minute.';
comment on column muniment.console_sessions.expires_at is 'From when on it opens nothing.';

alter table muniment.console_sessions enable row level security;
alter table muniment.console_sessions force row level security;
create policy console_sessions_issuer on muniment.console_sessions to muniment_issuer
  using ((select muniment.my_spaces()) is null) with check ((select muniment.my_spaces()) is null);
comment on policy console_sessions_issuer on muniment.console_sessions is
  'The issuer reads and writes all sessions in transactions that enter no space; nobody else reads any.';
grant select, insert, update, delete on muniment.console_sessions to muniment_issuer;

create function muniment.open_console_session(session bytea, token uuid, at timestamptz, until timestamptz) returns boolean
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp set app.spaces = '' as $$
begin
  delete from muniment.console_sessions s where s.expires_at <= at;
  insert into muniment.console_sessions (digest, token_id, created_at, last_used_at, expires_at)
  select session, t.token_id, at, at, least(until, t.expires_at) from muniment.tokens t
  where t.token_id = token and t.revoked_at is null and (t.expires_at is null or t.expires_at > at);
  return found;
end $$;
comment on function muniment.open_console_session(bytea, uuid, timestamptz, timestamptz) is
  'Opens a session of a valid token, and removes those that are over; false for a token that is not valid. It runs as the issuer.';
revoke all on function muniment.open_console_session(bytea, uuid, timestamptz, timestamptz) from public;

create function muniment.use_console_session(session bytea, at timestamptz) returns setof muniment.tokens
language plpgsql volatile rows 1 security definer set search_path = pg_catalog, pg_temp set app.spaces = '' as $$
begin
  update muniment.console_sessions s set last_used_at = at
  where s.digest = session and s.last_used_at < at - interval '1 minute' and s.expires_at > at;
  return query select t.* from muniment.console_sessions s join muniment.tokens t on t.token_id = s.token_id
  where s.digest = session and s.expires_at > at and t.revoked_at is null and (t.expires_at is null or t.expires_at > at);
end $$;
comment on function muniment.use_console_session(bytea, timestamptz) is
  'What the token of the session with this digest permits; nothing where either is over. It runs as the issuer: who has no cookie learns of none.';
revoke all on function muniment.use_console_session(bytea, timestamptz) from public;

create function muniment.end_console_session(session bytea) returns void language sql volatile
security definer set search_path = pg_catalog, pg_temp set app.spaces = '' as $$
  delete from muniment.console_sessions s where s.digest = session
$$;
comment on function muniment.end_console_session(bytea) is 'Removes a session. It runs as the issuer.';
revoke all on function muniment.end_console_session(bytea) from public;

-- The next owner of a function needs the right to create in its schema, at this moment only.
grant create on schema muniment to muniment_issuer;
alter function muniment.open_console_session(bytea, uuid, timestamptz, timestamptz) owner to muniment_issuer;
alter function muniment.use_console_session(bytea, timestamptz) owner to muniment_issuer;
alter function muniment.end_console_session(bytea) owner to muniment_issuer;
revoke create on schema muniment from muniment_issuer;
grant execute on function muniment.open_console_session(bytea, uuid, timestamptz, timestamptz) to muniment_app;
grant execute on function muniment.use_console_session(bytea, timestamptz) to muniment_app;
grant execute on function muniment.end_console_session(bytea) to muniment_app;
