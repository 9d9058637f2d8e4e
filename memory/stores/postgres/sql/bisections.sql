-- name: answers (the replies of a bisection)
select statements, attempt, holds, reply, strayed from muniment.bisect_replies
where space_id = %(space)s and bisection_id = %(bisection)s

-- name: keep (inserts a reply; one for the same statements and attempt stays)
insert into muniment.bisect_replies (space_id, bisection_id, statements, attempt, holds, reply, strayed, at)
values (%(space)s, %(bisection)s, %(statements)s, %(attempt)s, %(holds)s, %(reply)s, %(strayed)s, %(at)s)
on conflict do nothing

-- name: drop (deletes the replies of a bisection)
delete from muniment.bisect_replies where space_id = %(space)s and bisection_id = %(bisection)s
