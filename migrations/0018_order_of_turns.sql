-- When a turn was said by the clock of the database, which all hosts share: their own clocks may differ.
alter table muniment.turns add column said_at timestamptz;
comment on column muniment.turns.said_at is 'When it was said, by the clock of the database: hosts whose clocks differ have one order. Null: a former version recorded it.';

-- As before, with the time of each turn by the clock of the database.
create or replace function muniment.commit_plan(
  at_space uuid, founding jsonb, expected bigint, changes int, memories jsonb, embeddings halfvec[],
  weights sparsevec[], lines jsonb, fresh boolean, consumed jsonb, extracted jsonb, edges jsonb
) returns void language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
#variable_conflict use_column
begin
  perform muniment.enter_space(at_space);
  if founding is not null then
    insert into muniment.spaces (space_id, tenant_id, owner_id, owner_type, rev, created_at)
    select at_space, s.tenant_id, s.owner_id, s.owner_type, 0, s.created_at
    from jsonb_populate_record(null::muniment.spaces, founding) s
    on conflict (space_id) do nothing;
  end if;
  update muniment.spaces set rev = rev + changes where space_id = at_space and rev = expected;
  if not found then
    perform muniment.refuse('40001', 'the space is no longer at revision ' || expected);
  end if;
  if consumed is not null then
    insert into muniment.turns (space_id, turn_id, session_id, thread_id, role, actor, text, at, source, path, tags,
      recalled, consumed_rev, said_at)
    select at_space, t.turn_id, t.session_id, t.thread_id, t.role, t.actor, t.text, t.at, t.source, t.path, t.tags,
      t.recalled, expected + changes, statement_timestamp() - (
        coalesce(lines -> 0 ->> 'ts', extracted ->> 'at')::timestamptz - t.at)
    from jsonb_populate_recordset(null::muniment.turns, consumed) t
    on conflict (space_id, turn_id) do update set consumed_rev = excluded.consumed_rev
    where turns.consumed_rev is null;
    if not found then
      perform muniment.refuse('MU001', 'every turn of the plan is consumed');
    end if;
  end if;
  if extracted is not null then
    insert into muniment.extractions (
      space_id, turn_id, source, found, written, repaired, refused, prompt, model, rev, at)
    select at_space, e.turn_id, e.source, e.found, changes, e.repaired, e.refused, e.prompt, e.model,
      expected + changes, e.at
    from jsonb_populate_record(null::muniment.extractions, extracted) e
    on conflict (space_id, turn_id, source) do nothing;
    if not found then
      perform muniment.refuse('MU001', 'extracted before');
    end if;
    if extracted ->> 'prompt' like 'extract-%' and not exists (
        select from muniment.turns t where t.space_id = at_space and t.turn_id = (extracted ->> 'turn_id')::uuid)
      or (extracted ->> 'since')::bigint > expected or exists (
        select from muniment.journal j
        where j.space_id = at_space and j.rev > (extracted ->> 'since')::bigint and j.meta ? 'hard') then
      perform muniment.refuse('40001', 'what was looked at has been erased');
    end if;
  end if;
  perform muniment.apply_changes(at_space, memories, embeddings, weights, lines, fresh);
  if edges is not null then
    insert into muniment.relations (space_id, from_id, to_id, relation_type, strength, created_at)
    select at_space, r.from_id, r.to_id, r.relation_type, r.strength, r.created_at
    from jsonb_populate_recordset(null::muniment.relations, edges) r
    on conflict (space_id, from_id, to_id) do update set strength = excluded.strength;
  end if;
end $$;
