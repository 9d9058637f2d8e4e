-- name: add (adds to a day of a token)
insert into muniment.proxy_days as d (space_id, token_id, day, requests, refused, unreported, prompt_tokens, cached_tokens,
  completion_tokens, memories, bytes_in, bytes_out, latency_ms, longest_ms)
values (%(space)s, %(token_id)s, %(day)s, %(requests)s, %(refused)s, %(unreported)s, %(prompt_tokens)s, %(cached_tokens)s,
  %(completion_tokens)s, %(memories)s, %(bytes_in)s, %(bytes_out)s, %(latency_ms)s, %(longest_ms)s)
on conflict (space_id, token_id, day) do update set
  requests = d.requests + excluded.requests, refused = d.refused + excluded.refused,
  unreported = d.unreported + excluded.unreported, prompt_tokens = d.prompt_tokens + excluded.prompt_tokens,
  cached_tokens = d.cached_tokens + excluded.cached_tokens,
  completion_tokens = d.completion_tokens + excluded.completion_tokens, memories = d.memories + excluded.memories,
  bytes_in = d.bytes_in + excluded.bytes_in, bytes_out = d.bytes_out + excluded.bytes_out,
  latency_ms = d.latency_ms + excluded.latency_ms, longest_ms = greatest(d.longest_ms, excluded.longest_ms)

-- name: days (the days of a token or of all since a day, the latest first)
select token_id, day, requests, refused, unreported, prompt_tokens, cached_tokens, completion_tokens, memories, bytes_in,
  bytes_out, latency_ms, longest_ms
from muniment.proxy_days
where day >= %(since)s and coalesce(token_id = %(token)s::uuid, %(token)s::uuid is null)
order by day desc, token_id
