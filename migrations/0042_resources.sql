-- Resources: documents that were taken in. Each of their statements is a memory of trust `document` whose source is the resource's URI.
create index memories_of_resource on muniment.memories (space_id, source) where trust = 'document' and source is not null;
comment on index muniment.memories_of_resource is 'The statements of a resource.';

-- As before, without what a resource states: it stands as long as its document makes it, and becomes no part of another memory.
create or replace function muniment.near(
  at_space uuid, kinds text[], keys text[], attributes text[], vectors halfvec[], model text, most int, places text[]
) returns table (n bigint, rev bigint, same_key boolean, sim float8, found muniment.memories)
language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
#variable_conflict use_column
begin
  perform muniment.enter_space(at_space), muniment.expect_embedder(model);
  return query select 0::bigint, coalesce((select s.rev from muniment.spaces s where s.space_id = at_space), 0),
    null::boolean, null::float8, null::muniment.memories;
  if array_remove(attributes, null) <> '{}' then
    return query
    select kin.n, null::bigint, kin.same_key, null::float8,
      (select m from muniment.memories m where m.space_id = at_space and m.memory_id = kin.memory_id)
    from (
      select p.n, c.memory_id, c.stable_key = p.stable_key as same_key,
        row_number() over (partition by p.n order by c.stable_key = p.stable_key desc, c.rev desc) as place
      from unnest(kinds, keys, attributes, places) with ordinality p (kind, stable_key, attribute, place, n)
      join muniment.memories c on c.space_id = at_space and c.state = 'active' and c.stable_key is not null
        and c.kind = p.kind and not (c.trust = 'document' and c.source is not null)
        and (c.stable_key = p.stable_key or starts_with(c.stable_key, p.attribute))
        and p.place is not distinct from
          case c.reach when 'project' then 'project:' || c.project_id when 'session' then 'session:' || c.session_id end
    ) kin where kin.place <= 200 order by kin.n, kin.place;
  end if;
  return query
  select p.n, null::bigint, false, 1 - close.distance,
    (select m from muniment.memories m where m.space_id = at_space and m.memory_id = close.memory_id)
  from unnest(kinds, vectors, places) with ordinality p (kind, vector, place, n)
  cross join lateral (
    select c.memory_id,
      (case when c.embedding_model = model then c.embedding else c.next_embedding end) <=> p.vector as distance
    from muniment.memories c
    where c.space_id = at_space and c.state = 'active' and c.kind = p.kind
      and not (c.trust = 'document' and c.source is not null) and (c.embedding_model = model or c.next_model = model)
      and p.place is not distinct from
          case c.reach when 'project' then 'project:' || c.project_id when 'session' then 'session:' || c.session_id end
    order by distance, c.memory_id limit most
  ) close
  order by p.n, close.distance, close.memory_id;
end $$;
