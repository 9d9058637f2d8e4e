-- name: heed (milliseconds and seconds. In a transaction that goes on, a client says something; over a Unix socket the others
-- have no meaning)
select set_config('idle_in_transaction_session_timeout', %(tcp_user_timeout)s, false),
  set_config('tcp_user_timeout', %(tcp_user_timeout)s, false),
  set_config('tcp_keepalives_idle', %(keepalives_idle)s, false),
  set_config('tcp_keepalives_interval', %(keepalives_interval)s, false),
  set_config('tcp_keepalives_count', %(keepalives_count)s, false)

-- name: settle (for the session, or for the transaction: in the application's role. A plan is made once, for any space: that
-- of a search takes as long to make as to carry out. Every statement keeps to one space, so that an index is always right,
-- whatever the statistics say of another space; Citus is the exception, where a plan for any space is none for the node of one.
-- An aggregate over the few rows that name a speaker sorts those, not all of them before it. A large space's own index goes on
-- until it has found enough that the filters let pass; a search keeps a space of twenty thousand memories in memory)
select set_config('role', 'muniment_app', %(local)s), set_config('plan_cache_mode', case when exists (
    select from pg_catalog.pg_extension where extname = 'citus') then 'auto' else 'force_generic_plan' end, %(local)s),
  set_config('enable_seqscan', 'off', %(local)s), set_config('jit', 'off', %(local)s),
  set_config('enable_presorted_aggregate', 'off', %(local)s),
  set_config('hnsw.iterative_scan', 'relaxed_order', %(local)s), set_config('work_mem', '16MB', %(local)s),
  set_config('timezone', 'UTC', %(local)s), set_config('idle_in_transaction_session_timeout',
    coalesce(%(silence)s, current_setting('idle_in_transaction_session_timeout')), %(local)s)
