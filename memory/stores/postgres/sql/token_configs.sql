-- name: found (a token and its configuration, as a function returns them)
(f.token).digest, (f.token).token_id as id, (f.token).tenant_id as tenant, (f.token).owner_id as owner, (f.token).agents, (f.token).projects,
(f.token).scopes, (f.token).created_at, (f.token).expires_at, (f.token).revoked_at,
case when (f.config).token_id is not null then to_jsonb(f.config) end as config, (f.config).sealed_keys, (f.config).sealed_formers

-- name: find (the token with this digest and its configuration, as the application)
select {{found}} from muniment.find_configured_token(%(digest)s) f

-- name: find_by_id (the token with this id and its configuration, as a worker)
select {{found}} from muniment.find_token_of_job(%(id)s) f

-- name: listed (tokens with a configuration, newest first, as the issuer)
select {{found}} from (
  select t as token, c as config from muniment.tokens t join muniment.token_configs c on c.token_id = t.token_id
  where t.token_id = coalesce(%(id)s, t.token_id)
) f order by (f.token).created_at desc, (f.token).token_id

-- name: fields (of a configuration that are not sealed)
llm_base_url, llm_model, memory_llm_provider, memory_llm_base_url, memory_llm_body, embed_provider, embed_base_url, embed_dims,
embed_body, memory_prompt, memory_limit, session_window_size, memory_place, http_timeout, memory_search_timeout,
memory_store_timeout, history_days

-- name: values (of these fields)
%(llm_base_url)s, %(llm_model)s, %(memory_llm_provider)s, %(memory_llm_base_url)s, %(memory_llm_body)s, %(embed_provider)s,
%(embed_base_url)s, %(embed_dims)s, %(embed_body)s, %(memory_prompt)s, %(memory_limit)s, %(session_window_size)s, %(memory_place)s,
%(http_timeout)s, %(memory_search_timeout)s, %(memory_store_timeout)s, %(history_days)s

-- name: add (the configuration of a token, as the issuer)
insert into muniment.token_configs ({{fields}}, token_id, hint, sealed_keys, changed_at)
values ({{values}}, %(id)s, %(hint)s, %(sealed_keys)s, now())

-- name: choose_model (gives a new tenant an embedder, as the keeper)
insert into muniment.tenant_embedders (tenant_id, model) values (%(tenant)s, %(model)s)

-- name: has_vectors (whether a tenant has memories or former versions, as the keeper)
select exists (select from muniment.spaces s join muniment.memories m on m.space_id = s.space_id where s.tenant_id = %(tenant)s)
  or exists (select from muniment.spaces s join muniment.memory_versions v on v.space_id = s.space_id
    where s.tenant_id = %(tenant)s)
  or exists (select from muniment.spaces s where s.tenant_id = %(tenant)s and s.model is not null) as yes

-- name: replace_model (gives a tenant without vectors another embedder, as the keeper)
update muniment.tenant_embedders set model = %(model)s where tenant_id = %(tenant)s

-- name: update (replaces a configuration that nobody has changed meanwhile, as the issuer)
update muniment.token_configs set ({{fields}}, sealed_keys, sealed_formers, revision, changed_at)
  = row({{values}}, %(sealed_keys)s, %(sealed_formers)s, %(revision)s, now())
where token_id = %(id)s and revision = %(revision)s - 1

-- name: drop_formers (removes the former embedders of a configuration with this revision, as a worker)
select muniment.drop_former_embedders(%(id)s, %(revision)s) as count

-- name: replace_digest (puts another token in the place of one, as the issuer)
with put as (
  update muniment.tokens t set digest = %(digest)s where t.token_id = %(id)s and t.revoked_at is null
    and exists (select from muniment.token_configs c where c.token_id = t.token_id)
  returning t.token_id
)
update muniment.token_configs c set hint = %(hint)s from put where c.token_id = put.token_id

-- name: delete (removes a configuration, as the issuer)
delete from muniment.token_configs where token_id = %(id)s
