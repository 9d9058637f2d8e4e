-- name: item (the columns of an item)
i.namespace, i.key, i.value, i.created_at, i.updated_at

-- name: live (the items of the space that have not expired)
i.space_id = %(space)s and (i.expires_at is null or i.expires_at > %(now)s)

-- name: below (the items of a namespace and of those below it)
i.namespace[1:cardinality(%(prefix)s::text[])] = %(prefix)s::text[]

-- name: get (an item)
select {{item}} from muniment.items i where {{live}} and i.item_id = %(id)s

-- name: search (the items below a namespace that meet all conditions, those first that are most alike, the newest first)
select {{item}}, s.score::float8, i.item_id
from muniment.items i
cross join lateral (
  select max(1 - (v <=> %(vector)s::halfvec)) as score from unnest(i.vectors) v where i.model = %(model)s
) s
where {{live}} and {{below}} and not exists (
  select from jsonb_array_elements(%(conditions)s::jsonb) c
  cross join lateral (
    select coalesce(i.fields #> array(select jsonb_array_elements_text(c -> 'path')), 'null') as has, c -> 'value' as wanted
  ) b
  where not case c ->> 'op'
    when '$eq' then has = wanted
    when '$ne' then has <> wanted
    when 'object' then jsonb_typeof(has) = 'object'
    else jsonb_typeof(has) = jsonb_typeof(wanted) and case c ->> 'op'
      when '$gt' then has > wanted
      when '$gte' then has >= wanted
      when '$lt' then has < wanted
      else has <= wanted end
  end
)
order by s.score desc nulls last, i.updated_at desc, i.namespace collate "C", i.key collate "C"
limit %(limit)s offset %(offset)s

-- name: namespaces (the namespaces that meet all conditions, cut off at a depth)
select namespace from (
  select distinct i.namespace[1:%(depth)s] as namespace from muniment.items i
  where {{live}} and not exists (
    select from jsonb_array_elements(%(conditions)s::jsonb) c
    cross join lateral (select case c ->> 'type' when 'prefix' then 0
      else cardinality(i.namespace) - jsonb_array_length(c -> 'path') end as start) s
    where start < 0 or jsonb_array_length(c -> 'path') > cardinality(i.namespace) or exists (
      select from jsonb_array_elements_text(c -> 'path') with ordinality p (label, n)
      where label <> '*' and label <> i.namespace[start + n])
  )
) found
order by namespace collate "C" limit %(limit)s offset %(offset)s

-- name: refresh (lets items live as long again as when they were put; Citus takes no sum of a time with a zone and a column)
update muniment.items i set expires_at = (%(now)s::timestamptz at time zone 'UTC' + i.ttl) at time zone 'UTC'
where i.space_id = %(space)s and i.item_id = any(%(ids)s) and i.ttl is not null

-- name: put (inserts an item, or replaces its value)
insert into muniment.items as i (
  space_id, item_id, namespace, key, value, fields, paths, vectors, model, ttl, expires_at, created_at, updated_at)
select %(space)s, %(id)s, %(namespace)s, %(key)s, %(value)s, %(fields)s, %(paths)s, %(vectors)s::halfvec[], %(model)s,
  %(ttl)s, %(now)s + %(ttl)s::interval, %(now)s, %(now)s
where muniment.expect_embedder(%(model)s)
on conflict on constraint items_pk do update set value = excluded.value, fields = excluded.fields, paths = excluded.paths,
  vectors = excluded.vectors, model = excluded.model, ttl = excluded.ttl, expires_at = excluded.expires_at,
  updated_at = excluded.updated_at

-- name: delete (deletes an item)
delete from muniment.items where space_id = %(space)s and item_id = %(id)s

-- name: sweep (deletes items that have expired)
delete from muniment.items where space_id = %(space)s and expires_at <= %(now)s

-- name: stale (a page of the items that are searched by meaning and have no vectors of this embedder)
select i.item_id as id, i.value, i.paths, i.updated_at from muniment.items i
where {{live}} and {{below}} and i.model <> %(model)s and cardinality(i.paths) > 0 and muniment.expect_embedder(%(model)s)
order by i.item_id limit %(limit)s

-- name: write_vectors (writes the vectors of an item, unless it was put anew)
update muniment.items set vectors = %(vectors)s::halfvec[], model = %(model)s
where space_id = %(space)s and item_id = %(id)s and updated_at = %(updated_at)s and muniment.expect_embedder(%(model)s)
