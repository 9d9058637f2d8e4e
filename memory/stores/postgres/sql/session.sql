-- name: keepalive (ends connections without a sign of the client; the last four have no meaning over a Unix socket)
select set_config('idle_in_transaction_session_timeout', %(tcp_user_timeout)s, false),
  set_config('tcp_user_timeout', %(tcp_user_timeout)s, false),
  set_config('tcp_keepalives_idle', %(keepalives_idle)s, false),
  set_config('tcp_keepalives_interval', %(keepalives_interval)s, false),
  set_config('tcp_keepalives_count', %(keepalives_count)s, false)

-- name: configure (role, planner and time zone of a session, or of a transaction behind a pooler)
select set_config('role', 'muniment_app', %(local)s), set_config('plan_cache_mode', case when exists (
    select from pg_catalog.pg_extension where extname = 'citus') then 'auto' else 'force_generic_plan' end, %(local)s),
  set_config('enable_seqscan', 'off', %(local)s), set_config('jit', 'off', %(local)s),
  set_config('enable_presorted_aggregate', 'off', %(local)s),
  set_config('hnsw.iterative_scan', 'relaxed_order', %(local)s), set_config('work_mem', '16MB', %(local)s),
  set_config('timezone', 'UTC', %(local)s), set_config('idle_in_transaction_session_timeout',
    coalesce(%(silence)s, current_setting('idle_in_transaction_session_timeout')), %(local)s)
