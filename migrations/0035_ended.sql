-- What has an end is past it for every reader at that moment, also for one who does not see the memory: for the profile, whose approved
-- values outlive the sight of their memories, and for what stands back behind a memory in a slot.
create function muniment.has_ended(at_space uuid, memory uuid, at_rev bigint, moment timestamptz) returns boolean
language plpgsql stable set "app.categories" to '*' as $$
begin
  return exists (
    select from (
      select m.state, m.expires_at from muniment.memories m
      where m.space_id = at_space and m.memory_id = memory and (at_rev is null or m.rev <= at_rev)
      union all
      select v.state, v.expires_at from muniment.memory_versions v
      where v.space_id = at_space and v.memory_id = memory and v.from_rev <= at_rev and v.to_rev > at_rev
    ) o
    where o.state = 'active'
      and o.expires_at <= coalesce(case when at_rev is not null then muniment.time_after(at_space, at_rev) end, moment, now()));
end $$;
comment on function muniment.has_ended(uuid, uuid, bigint, timestamptz) is
  'Whether an active memory is past its end at a moment (null: now), or was when what followed a revision began. It waits for the maintenance then.';

-- The views of a former design show no such row either.
create or replace view muniment.memory_materializations with (security_invoker = true) as
select space_id, projection_id as materialization_id, type as materialization_type, key as stable_key, status, title, data as payload,
  category, trust, memory_id as entry_id, memories as entry_ids, superseded_by, rev, at as updated_at
from muniment.projections p
where not exists (select from muniment.memories m where m.space_id = p.space_id and m.memory_id = p.memory_id
  and m.state = 'active' and m.expires_at <= now());

create or replace view muniment.memory_projection_conflicts with (security_invoker = true) as
select space_id, projection_id as materialization_id, type as materialization_type, key as stable_key, title, data as payload, category,
  trust, memory_id as entry_id, rev, at as updated_at
from muniment.projections p
where status = 'conflict' and not exists (select from muniment.memories m where m.space_id = p.space_id
  and m.memory_id in (p.memory_id, p.superseded_by) and m.state = 'active' and m.expires_at <= now());
