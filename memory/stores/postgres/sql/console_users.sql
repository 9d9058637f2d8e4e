-- name: users (the users of a tenant who have a memory, as the keeper)
select owner_id as owner, count(*) over () as total from muniment.spaces
where tenant_id = %(tenant)s and owner_type = 'user' and strpos(lower(owner_id), lower(%(part)s)) > 0
order by owner_id limit %(limit)s
