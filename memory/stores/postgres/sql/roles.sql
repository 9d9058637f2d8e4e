-- name: app (the role whose policies keep to one space)
select set_config('role', 'muniment_app', true)

-- name: keeper (the role that sees each space, and of rows only what is counted)
select set_config('role', 'muniment_keeper', true)

-- name: eraser (the only role that may remove for good)
select set_config('role', 'muniment_eraser', true)

-- name: worker (the role that takes jobs of all spaces, and enters none)
select set_config('role', 'muniment_worker', true)

-- name: issuer (the only role that reads and writes tokens)
select set_config('role', 'muniment_issuer', true)

-- name: own (the role that has logged in)
select set_config('role', 'none', true)
