-- name: written (revisions rise with time: from the last one before then, as a value, which the index takes)
select count(*) as changes from muniment.journal
where space_id = %(space)s and node = any(%(nodes)s) and not meta ? 'hard' and rev > (select coalesce(
  (select rev from muniment.journal where space_id = %(space)s and ts < %(since)s order by rev desc limit 1), 0))

-- name: supported
select memory_id from muniment.memories where space_id = %(space)s and state = 'active' and %(turn)s = any(turns)
