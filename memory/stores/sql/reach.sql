-- name: heed (milliseconds and seconds. In a transaction that goes on, a client says something; over a Unix socket the others
-- have no meaning)
select set_config('idle_in_transaction_session_timeout', %(tcp_user_timeout)s, false),
  set_config('tcp_user_timeout', %(tcp_user_timeout)s, false),
  set_config('tcp_keepalives_idle', %(keepalives_idle)s, false),
  set_config('tcp_keepalives_interval', %(keepalives_interval)s, false),
  set_config('tcp_keepalives_count', %(keepalives_count)s, false)
