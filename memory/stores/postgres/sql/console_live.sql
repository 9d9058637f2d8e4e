-- name: versions (the revisions of spaces, and when they began, as the keeper)
select space_id, rev, created_at from muniment.spaces where space_id = any(%(spaces)s)

-- name: changes (how many lines of the journal after a revision are of what the reader may see)
select count(*) as changes from (
  select from muniment.journal j
  where j.space_id = %(space)s and j.rev > %(since)s order by j.rev limit %(limit)s) seen
