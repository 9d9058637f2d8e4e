-- name: app (whose policies keep to one space)
select set_config('role', 'muniment_app', true)

-- name: keeper (who sees of every space that it is there, and of its rows what is counted)
select set_config('role', 'muniment_keeper', true)

-- name: eraser (who alone may remove for good)
select set_config('role', 'muniment_eraser', true)

-- name: own (the one that has logged in)
select set_config('role', 'none', true)
