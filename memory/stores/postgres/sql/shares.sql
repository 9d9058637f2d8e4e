-- name: add (a share, as the issuer; one that exists stays as it is)
insert into muniment.shares (
  space_id, reader_id, tenant_id, owner_type, owner_id, reader_type, reader, granted_by, since)
values (%(space)s, %(reader_space)s, %(tenant)s, %(owner_type)s, %(owner)s, %(reader_type)s, %(reader)s, %(granted_by)s,
  %(since)s)
on conflict (space_id, reader_id) do nothing

-- name: get (one share, as the issuer)
select {{columns}} from muniment.shares s where s.space_id = %(space)s and s.reader_id = %(reader_space)s

-- name: list (the shares of a tenant or of all, as the issuer)
select {{columns}} from muniment.shares s where %(tenant)s::text is null or s.tenant_id = %(tenant)s
order by s.tenant_id, s.owner_type desc, s.owner_id, s.since desc, s.reader_id

-- name: remove (removes a share, as the issuer)
delete from muniment.shares s where s.space_id = %(space)s and s.reader_id = %(reader_space)s returning {{columns}}

-- name: columns (a share)
s.tenant_id, s.owner_type, s.owner_id, s.reader_type, s.reader, s.granted_by, s.since
