-- name: open (a session of a valid token, as the application)
select muniment.open_console_session(%(digest)s, %(token)s, %(at)s, %(until)s) as yes

-- name: use (what the token of a session permits, as the application)
select t.token_id as id, t.tenant_id as tenant, t.owner_id as owner, t.agents, t.projects, t.scopes, t.created_at, t.expires_at, t.revoked_at
from muniment.use_console_session(%(digest)s, %(at)s) t

-- name: end (removes a session, as the application)
select muniment.end_console_session(%(digest)s)
