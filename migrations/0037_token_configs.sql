-- Tokens that bring their own models. The tenant of such a token is its own, `token-` and the id, so the memory is, too; the keys of
-- endpoints are sealed under the key file of the installation, which is in no database. Every field may be null: what is not valid is
-- refused when it is loaded, and shown to who mends it. Only the issuer reads the table; the application asks for one digest, and a
-- worker for the token of a job.
create table muniment.token_configs (
  token_id uuid not null,
  hint text not null,
  llm_base_url text,
  llm_model text,
  memory_llm_provider text,
  memory_llm_base_url text,
  memory_llm_body text,
  embed_provider text,
  embed_base_url text,
  embed_dims integer,
  embed_body text,
  memory_prompt text,
  memory_limit integer,
  session_window_size integer,
  memory_place text,
  http_timeout double precision,
  memory_search_timeout double precision,
  memory_store_timeout double precision,
  history_days integer,
  sealed_keys bytea,
  sealed_formers bytea,
  revision bigint not null default 1,
  changed_at timestamptz not null,
  constraint token_configs_pk primary key (token_id),
  constraint token_configs_token_fk foreign key (token_id) references muniment.tokens (token_id) on delete cascade
);
comment on table muniment.token_configs is 'A row is what a token of the proxy is configured with. Written by `muniment proxy token` and its HTTP endpoints.';
comment on column muniment.token_configs.token_id is 'The token.';
comment on column muniment.token_configs.hint is 'The last four characters of the token, by which a person knows it.';
comment on column muniment.token_configs.llm_base_url is 'The endpoint to which requests are forwarded.';
comment on column muniment.token_configs.llm_model is 'The model of requests that name none; null: they have to.';
comment on column muniment.token_configs.memory_llm_provider is 'Who reads what was said: openai, an endpoint; rules, no model.';
comment on column muniment.token_configs.memory_llm_base_url is 'The endpoint of the model that reads what was said.';
comment on column muniment.token_configs.memory_llm_body is 'A JSON object that goes to that endpoint key by key, with the model''s name.';
comment on column muniment.token_configs.embed_provider is 'Where vectors come from: openai, an endpoint; offline, the embedder of this machine.';
comment on column muniment.token_configs.embed_base_url is 'The endpoint of the embedder.';
comment on column muniment.token_configs.embed_dims is 'The dimensions of its vectors.';
comment on column muniment.token_configs.embed_body is 'A JSON object that goes to that endpoint key by key, with the model''s name.';
comment on column muniment.token_configs.memory_prompt is 'What is worth remembering, in addition to the prompt of extraction.';
comment on column muniment.token_configs.memory_limit is 'How many memories a request gets at most.';
comment on column muniment.token_configs.session_window_size is 'How many earlier messages a request gets at most.';
comment on column muniment.token_configs.memory_place is 'Where memories stand in a request: system, user.';
comment on column muniment.token_configs.http_timeout is 'Seconds to wait for the endpoint; null: as the proxy says.';
comment on column muniment.token_configs.memory_search_timeout is 'Seconds that memory may take before a request; null: as the proxy says.';
comment on column muniment.token_configs.memory_store_timeout is 'Seconds that memory may take after an answer; null: as the proxy says.';
comment on column muniment.token_configs.history_days is 'Days for which messages are kept; null: for ever.';
comment on column muniment.token_configs.sealed_keys is 'The keys of the endpoints as JSON, sealed to this token (AES-GCM).';
comment on column muniment.token_configs.sealed_formers is 'The embedders that answer until the memory has vectors of the new one, sealed as the keys; null: no switch is under way.';
comment on column muniment.token_configs.revision is 'Grows by one with each change.';
comment on column muniment.token_configs.changed_at is 'When it was changed last.';

alter table muniment.token_configs enable row level security;
alter table muniment.token_configs force row level security;
create policy token_configs_issuer on muniment.token_configs to muniment_issuer
  using ((select muniment.my_spaces()) is null) with check ((select muniment.my_spaces()) is null);
comment on policy token_configs_issuer on muniment.token_configs is
  'The issuer reads and writes all configurations in transactions that enter no space; nobody else reads any.';
grant select, insert, update, delete on muniment.token_configs to muniment_issuer;

create function muniment.has_own_models(tenant text) returns boolean language sql immutable parallel safe as $$
  select tenant ~ '^token-[0-9a-f]{32}$'
$$;
comment on function muniment.has_own_models(text) is 'Whether a tenant is that of a token with a configuration, whose embedder and model are its own.';

create function muniment.find_configured_token(wanted bytea) returns table (token muniment.tokens, config muniment.token_configs)
language sql stable rows 1 security definer set search_path = pg_catalog, pg_temp as $$
  select t, c from muniment.tokens t left join muniment.token_configs c on c.token_id = t.token_id where t.digest = wanted
$$;
comment on function muniment.find_configured_token(bytea) is
  'The token with this digest, and its configuration where it has one. It runs as the issuer: who has no token learns of none.';

create function muniment.find_token_of_job(wanted uuid) returns table (token muniment.tokens, config muniment.token_configs)
language sql stable rows 1 security definer set search_path = pg_catalog, pg_temp as $$
  select t, c from muniment.tokens t left join muniment.token_configs c on c.token_id = t.token_id where t.token_id = wanted
$$;
comment on function muniment.find_token_of_job(uuid) is
  'The token with this id, and its configuration where it has one: for a worker that has a job of its memory. It runs as the issuer.';

create function muniment.drop_former_embedders(wanted uuid, known bigint) returns bigint
language sql volatile security definer set search_path = pg_catalog, pg_temp as $$
  with done as (
    update muniment.token_configs c set sealed_formers = null where c.token_id = wanted and c.revision = known returning 1)
  select count(*) from done
$$;
comment on function muniment.drop_former_embedders(uuid, bigint) is
  'Removes the former embedders of a configuration with this revision, whose memory has the new one. It runs as the issuer.';

revoke all on function muniment.find_configured_token(bytea), muniment.find_token_of_job(uuid),
  muniment.drop_former_embedders(uuid, bigint) from public;
-- The next owner of a function needs the right to create in its schema, at this moment only.
grant create on schema muniment to muniment_issuer;
alter function muniment.find_configured_token(bytea) owner to muniment_issuer;
alter function muniment.find_token_of_job(uuid) owner to muniment_issuer;
alter function muniment.drop_former_embedders(uuid, bigint) owner to muniment_issuer;
revoke create on schema muniment from muniment_issuer;
grant execute on function muniment.find_configured_token(bytea) to muniment_app;
grant execute on function muniment.find_token_of_job(uuid), muniment.drop_former_embedders(uuid, bigint) to muniment_worker;
