-- name: add (a token's grant under its digest, as the issuer)
insert into muniment.tokens (token_id, digest, tenant_id, owner_id, agents, projects, scopes, created_at, expires_at)
values (%(id)s, %(digest)s, %(tenant)s, %(owner)s, %(agents)s, %(projects)s, %(scopes)s, %(created_at)s, %(expires_at)s)

-- name: find (what the token with this digest permits, as the application)
select {{columns}} from muniment.find_token(%(digest)s) t

-- name: is_valid (whether the token with this id is valid, as the application)
select muniment.is_valid_token(%(id)s, %(at)s) as yes

-- name: grants (the grants of a tenant or of all, as the issuer)
select {{columns}} from muniment.tokens t
where %(tenant)s::text is null or t.tenant_id = %(tenant)s order by t.created_at desc, t.token_id

-- name: revoke (revokes a token, as the issuer; the first revocation stays)
update muniment.tokens t set revoked_at = coalesce(t.revoked_at, %(at)s) where t.token_id = %(id)s returning {{columns}}

-- name: columns (a grant)
t.token_id as id, t.tenant_id as tenant, t.owner_id as owner, t.agents, t.projects, t.scopes, t.created_at, t.expires_at, t.revoked_at
