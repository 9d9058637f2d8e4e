-- name: revision (of the settings)
select coalesce(max(rev), 0) as rev from muniment.setting_changes

-- name: overrides (the revision and all overrides; no row where the revision is the known one)
select r.rev as at_rev, o.key, o.value, o.rev, o.changed_by as by, o.changed_at as at
from ({{revision}}) r left join muniment.setting_overrides o on true
where r.rev is distinct from %(known)s order by o.key

-- name: wait (for whoever changes settings at this moment)
select pg_advisory_xact_lock(%(lock)s)

-- name: drop (the override of a key)
delete from muniment.setting_overrides where key = %(key)s

-- name: put (the override of a key)
insert into muniment.setting_overrides (key, value, rev, changed_by, changed_at)
values (%(key)s, %(value)s, %(rev)s, %(by)s, %(at)s)
on conflict on constraint setting_overrides_pk do update
set value = excluded.value, rev = excluded.rev, changed_by = excluded.changed_by, changed_at = excluded.changed_at

-- name: note (a change in the history)
insert into muniment.setting_changes (rev, key, former, value, is_reset, changed_by, changed_at)
values (%(rev)s, %(key)s, %(former)s, %(value)s, %(is_reset)s, %(by)s, %(at)s)

-- name: history (of some keys, the newest first)
select rev, key, former, value, is_reset, changed_by as by, changed_at as at from muniment.setting_changes
where key = any(%(keys)s) order by rev desc, key limit %(limit)s
