-- Messages of a conversation that a client sends again and again: each is known by a hash, so that it is stored once. And what the
-- exchanges of a token come to, day by day.
alter table muniment.turns add column hash bytea, add constraint turns_hash check (octet_length(hash) = 16);
comment on column muniment.turns.hash is
  'MD5 of role, text and payload of a message that is compared with others of its session; null: it is compared with none.';
create index turns_by_hash on muniment.turns (space_id, session_id, hash, position) where hash is not null;

-- Those of the messages that the session does not have, in order, each once. What a client sends as history (`earlier`) is known
-- if it ever was in the session; what is new if it is none of the last messages (`latest`).
create function muniment.find_new_messages(at_space uuid, at_session text, said jsonb, earlier int, latest int) returns jsonb
language plpgsql stable set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
declare
  begun int := coalesce((
    select s.turns - latest from muniment.sessions s where s.space_id = at_space and s.session_id = at_session), 0);
begin
  return (
    select jsonb_agg(m.line order by m.n) from (
      select distinct on (one.line ->> 'hash') one.line, one.n
      from jsonb_array_elements(said) with ordinality one (line, n) order by one.line ->> 'hash', one.n) m
    where not exists (
      select from muniment.turns t
      where t.space_id = at_space and t.session_id = at_session and t.hash = (m.line ->> 'hash')::bytea
        and t.position >= case when m.n > earlier then begun else 0 end));
end $$;
comment on function muniment.find_new_messages(uuid, text, jsonb, int, int) is
  'Those of the messages that the session does not have, in order.';

-- Appends the messages that a session does not have, and returns their ids. A call with known messages alone changes nothing. The
-- session is kept for `days` of its own, null for ever; `due`: when the first of the messages has to go.
create function muniment.append_messages(
  at_space uuid, at_session text, said jsonb, earlier int, latest int, days int, now timestamptz
) returns uuid[] language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
#variable_conflict use_column
declare
  t muniment.turns;
  place int;
  due timestamptz := now + make_interval(days => days);
  added uuid[] := '{}';
begin
  -- Maintenance and erasures lock the space, and so see all turns or none.
  perform from muniment.spaces where space_id = at_space for key share;
  if muniment.find_new_messages(at_space, at_session, said, earlier, latest) is null then
    return added;
  end if;
  if due is not null then
    update muniment.spaces set tend_at = least(due, timestamptz '9998-12-31')
    where space_id = at_space and (tend_at is null or tend_at > due);
  end if;
  perform muniment.keep_sessions(at_space, said, now);
  said := muniment.find_new_messages(at_space, at_session, said, earlier, latest);  -- while the session was waited for
  if said is null then
    return added;
  end if;
  update muniment.sessions s set turns = s.turns + jsonb_array_length(said), own_retention = true, retention_days = days
  where s.space_id = at_space and s.session_id = at_session
  returning s.turns - jsonb_array_length(said) into place;
  for t in
    select (jsonb_populate_record(null::muniment.turns, one.line)).*
    from jsonb_array_elements(said) with ordinality one (line, n) order by one.n
  loop
    insert into muniment.turns (space_id, turn_id, session_id, thread_id, role, actor, text, at, source, path, tags,
      recalled, said_at, position, kind, payload, visible, hash)
    values (at_space, t.turn_id, at_session, t.thread_id, t.role, t.actor, t.text, t.at, t.source, t.path, t.tags,
      t.recalled, statement_timestamp() - (now - t.at), place, t.kind, t.payload, t.visible, t.hash);
    place := place + 1;
    added := added || t.turn_id;
  end loop;
  return added;
end $$;
comment on function muniment.append_messages(uuid, text, jsonb, int, int, int, timestamptz) is
  'Appends the messages that a session does not have yet, and returns their ids.';

-- The messages of tokens by the names of their document. Each row is seen by who may see the turn.
create view muniment.messages with (security_invoker = true) as
select t.position as id,
  case when s.tenant_id ~ '^token-[0-9a-f]{32}$' then substr(s.tenant_id, 7)::uuid end as token_id,
  t.role, t.text as content, t.payload as metadata, t.at as created_at, encode(t.hash, 'hex') as hash
from muniment.turns t join muniment.spaces s on s.space_id = t.space_id
where t.hash is not null;
comment on view muniment.messages is 'The messages of tokens, numbered for each from 0.';
grant select on muniment.messages to muniment_app;

create table muniment.proxy_days (
  space_id uuid not null,
  token_id uuid not null,
  day date not null,
  requests bigint not null,
  refused bigint not null,
  unreported bigint not null,
  prompt_tokens bigint not null,
  cached_tokens bigint not null,
  completion_tokens bigint not null,
  memories bigint not null,
  bytes_in bigint not null,
  bytes_out bigint not null,
  latency_ms bigint not null,
  longest_ms bigint not null,
  constraint proxy_days_pk primary key (space_id, token_id, day)
);
comment on table muniment.proxy_days is
  'A row is what the exchanges of a token through the proxy came to on a day. Nothing of it is charged to the budget of the memory.';
comment on column muniment.proxy_days.space_id is 'The space of the token''s tenant.';
comment on column muniment.proxy_days.token_id is 'The token.';
comment on column muniment.proxy_days.day is 'The day, in UTC.';
comment on column muniment.proxy_days.requests is 'How many requests came, the refused ones included.';
comment on column muniment.proxy_days.refused is 'How many of them the proxy refused itself.';
comment on column muniment.proxy_days.unreported is 'To how many of the others the provider reported no tokens.';
comment on column muniment.proxy_days.prompt_tokens is 'Tokens of prompts, as the provider reports them.';
comment on column muniment.proxy_days.cached_tokens is 'Those of them that the provider had cached.';
comment on column muniment.proxy_days.completion_tokens is 'Tokens of answers, as the provider reports them.';
comment on column muniment.proxy_days.memories is 'How many memories were put before a model.';
comment on column muniment.proxy_days.bytes_in is 'Bytes of the bodies of requests, as they came.';
comment on column muniment.proxy_days.bytes_out is 'Bytes of the bodies of answers.';
comment on column muniment.proxy_days.latency_ms is 'Milliseconds from the requests to the ends of the answers, in sum.';
comment on column muniment.proxy_days.longest_ms is 'The longest of these times in milliseconds.';

alter table muniment.proxy_days enable row level security;
alter table muniment.proxy_days force row level security;
create policy proxy_days_own on muniment.proxy_days to muniment_app
  using (space_id = any((select muniment.my_spaces())::uuid[]) and (select muniment.all_categories()))
  with check (space_id = any((select muniment.my_spaces())::uuid[]) and (select muniment.all_categories()));
comment on policy proxy_days_own on muniment.proxy_days is
  'The application reads and writes the days of the tenant whose space it has entered; who has an allowlist of categories sees none.';
create policy proxy_days_issuer on muniment.proxy_days for select to muniment_issuer
  using ((select muniment.my_spaces()) is null);
comment on policy proxy_days_issuer on muniment.proxy_days is 'The issuer reads the days of all tokens, in transactions that enter no space.';
grant select, insert, update on muniment.proxy_days to muniment_app;
grant select on muniment.proxy_days to muniment_issuer;
