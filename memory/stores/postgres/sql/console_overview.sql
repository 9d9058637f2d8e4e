-- name: memory_counts (how many memories of a space there are, by category and state)
select category, state, count(*) as count from muniment.memories
where space_id = %(space)s group by category, state order by category, state
