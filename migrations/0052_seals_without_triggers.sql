-- Seals without triggers: who adds lines to the journal calls `seal_lines` in the same transaction, and an erasure says which rows it is
-- about to change. A commit of one new memory is sealed by the statements that write it. The digests are what they were.
drop trigger journal_seal on muniment.journal;
drop trigger journal_reseal on muniment.journal;
drop trigger memories_reseal on muniment.memories;
drop trigger memory_versions_reseal on muniment.memory_versions;
drop trigger spaces_seals on muniment.spaces;
drop function muniment.seal_lines();
drop function muniment.keep_seals(uuid, bigint[], bytea[], bytea[], bytea[]);
drop function muniment.reseal_journal();
drop function muniment.reseal_memories();
drop function muniment.reseal_memory_versions();
drop function muniment.keep_reseal(uuid, bigint, bytea, bytea);
drop function muniment.drop_seals();

create or replace function muniment.make_salt() returns bytea language sql volatile as $$
  select sha256(uuid_send(gen_random_uuid()))
$$;
comment on function muniment.make_salt() is '32 bytes, made of 122 bits of the server''s secure source.';

create function muniment.chain_digest(so_far bytea, before bytea, line bytea) returns bytea language plpgsql immutable parallel safe as $$
begin
  return sha256(coalesce(so_far, before) || line);
end $$;
comment on function muniment.chain_digest(bytea, bytea, bytea) is 'A step of chain_lines.';
create aggregate muniment.chain_lines(before bytea, line bytea) (sfunc = muniment.chain_digest, stype = bytea, parallel = safe);
comment on aggregate muniment.chain_lines(bytea, bytea) is
  'The digest of the last one of lines: that of each is over the digest of the line before it, and that of the first over `before`.';

-- The salts of the lines of a call are digests of one secret, which is not kept. Each line looks up its memory by its key: a plan that was
-- made for one line is as good for a thousand.
create function muniment.seal_lines(at_space uuid, since bigint) returns void language plpgsql as $$
#variable_conflict use_column
declare
  secret bytea := muniment.make_salt();
  resealed bytea := '';
begin
  if current_setting('client_encoding') <> 'UTF8' then
    perform muniment.seal_lines_in_utf8(at_space, since);
    return;
  end if;
  if current_user = 'muniment_eraser' then
    resealed := muniment.close_reseals(at_space, since + 1);
  end if;
  with kept as (
    insert into muniment.seals (space_id, rev, digest, content, salt)
    select at_space, l.rev, muniment.chain_lines(
        (select coalesce(s.head, muniment.digest_space(s.space_id, s.sealed_from)) from muniment.spaces s where s.space_id = at_space),
        muniment.digest_line(l.line, l.content) || case when l.rev = since + 1 then resealed else '' end
      ) over (order by l.rev rows unbounded preceding), l.content, l.salt
    from (
      select j.rev, j as line, s.salt, coalesce((
        select muniment.digest_content(s.salt, j.meta, m) from muniment.memories m
        where m.space_id = at_space and m.memory_id = j.memory_id and m.rev = j.rev
      ), muniment.digest_content(s.salt, j.meta, null::muniment.memories)) as content
      from muniment.journal j cross join lateral (select sha256(secret || int8send(j.rev)) as salt offset 0) s
      where j.space_id = at_space and j.rev > since
      offset 0
    ) l
    returning rev, digest
  )
  update muniment.spaces set head = latest.digest from (select digest from kept order by rev desc limit 1) latest
  where space_id = at_space;
end $$;
comment on function muniment.seal_lines(uuid, bigint) is
  'Seals the lines of the journal after a revision. Whoever adds lines calls it in the same transaction, before anything else changes the memories.';

create function muniment.seal_lines_in_utf8(at_space uuid, since bigint) returns void language plpgsql set client_encoding = 'UTF8' as $$
begin
  perform muniment.seal_lines(at_space, since);
end $$;
comment on function muniment.seal_lines_in_utf8(uuid, bigint) is 'The same for a client of another encoding: texts are digested as they would be sent.';

create function muniment.seal_addition(at_space uuid, memory jsonb, given jsonb, out salt bytea, out content bytea, out line bytea)
language plpgsql as $$
#variable_conflict use_variable
declare
  m muniment.memories;
  j muniment.journal;
begin
  -- Without these columns the memory is not what will be written.
  if memory is null or not memory ?& '{aliases,reach}' or current_setting('client_encoding') <> 'UTF8' then
    return;
  end if;
  m := jsonb_populate_record(null::muniment.memories, memory);
  j := jsonb_populate_record(null::muniment.journal, given);
  j.space_id := at_space;
  j.new_ref := j.memory_id || '@' || j.rev;
  j.category := m.category;
  salt := muniment.make_salt();
  content := muniment.digest_content(salt, j.meta, m);
  line := muniment.digest_line(j, content);
end $$;
comment on function muniment.seal_addition(uuid, jsonb, jsonb) is
  'What seals the line of one new memory, known before it is written: then the row of the space is changed once. Null where seal_lines has to.';

alter function muniment.apply_changes(uuid, jsonb, halfvec[], sparsevec[], jsonb, boolean) rename to write_changes;
create function muniment.apply_changes(
  at_space uuid, memories jsonb, embeddings halfvec[], weights sparsevec[], lines jsonb, fresh boolean
) returns void language plpgsql as $$
begin
  perform muniment.write_changes(at_space, memories, embeddings, weights, lines, fresh);
  perform muniment.seal_lines(at_space, (lines -> 0 ->> 'rev')::bigint - 1);
end $$;
comment on function muniment.apply_changes(uuid, jsonb, halfvec[], sparsevec[], jsonb, boolean) is
  'Writes the memories of a plan, archives the states that they replace, and adds to the journal; `fresh`: none of the memories was there before.';
comment on function muniment.write_changes(uuid, jsonb, halfvec[], sparsevec[], jsonb, boolean) is
  'The part of apply_changes without the seals of its lines.';

-- As before, and its lines are sealed.
create or replace function muniment.commit_memories(
  at_space uuid, founding jsonb, expected bigint, changes int, memories jsonb, embeddings halfvec[],
  weights sparsevec[], lines jsonb, fresh boolean, consumed jsonb, extracted jsonb, edges jsonb
) returns void language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
#variable_conflict use_column
declare
  seal record;
  sealed bytea;
begin
  perform muniment.enter_space(at_space);
  if founding is not null then
    insert into muniment.spaces (space_id, tenant_id, owner_id, owner_type, rev, created_at)
    select at_space, s.tenant_id, s.owner_id, s.owner_type, 0, s.created_at
    from jsonb_populate_record(null::muniment.spaces, founding) s
    on conflict (space_id) do nothing;
  end if;
  seal := muniment.seal_addition(at_space, case when fresh and changes = 1 then memories -> 0 end, lines -> 0);
  update muniment.spaces set rev = rev + changes,
    head = case when seal.line is null then head
      else sha256(coalesce(head, muniment.digest_space(space_id, sealed_from)) || seal.line) end,
    projected_rev = case when projected_rev = rev and not jsonb_path_exists(memories, '$[*] ? (!exists(@.slots))')
      then rev + changes else projected_rev end
  where space_id = at_space and rev = expected returning head into sealed;
  if not found then
    perform muniment.refuse('40001', 'the space is no longer at revision ' || expected);
  end if;
  if consumed is not null then
    perform muniment.keep_sessions(
      at_space, consumed, coalesce(lines -> 0 ->> 'ts', extracted ->> 'at')::timestamptz);
    insert into muniment.turns (space_id, turn_id, session_id, thread_id, role, actor, text, at, source, path, tags,
      recalled, consumed_rev, said_at, kind, payload, visible)
    select at_space, t.turn_id, muniment.session_of(t.session_id, t.thread_id), t.thread_id, t.role, t.actor, t.text,
      t.at, t.source, t.path, t.tags, t.recalled, expected + changes, statement_timestamp() - (
        coalesce(lines -> 0 ->> 'ts', extracted ->> 'at')::timestamptz - t.at),
      coalesce(t.kind, 'message'), t.payload, coalesce(t.visible, true)
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
  perform muniment.write_changes(at_space, memories, embeddings, weights, lines, fresh);
  if seal.line is not null then
    insert into muniment.seals (space_id, rev, digest, content, salt) values (at_space, expected + 1, sealed, seal.content, seal.salt);
  elsif lines -> 0 is not null then
    perform muniment.seal_lines(at_space, (lines -> 0 ->> 'rev')::bigint - 1);
  end if;
  perform muniment.project_changes(at_space, memories);
  if edges is not null then
    insert into muniment.relations (space_id, from_id, to_id, relation_type, strength, created_at)
    select at_space, r.from_id, r.to_id, r.relation_type, r.strength, r.created_at
    from jsonb_populate_recordset(null::muniment.relations, edges) r
    on conflict (space_id, from_id, to_id) do update set strength = excluded.strength;
  end if;
end $$;

-- An erasure says before its first change which rows it will change or remove, and seals after the last one what is left of them; the
-- digest of its first line is over that. What something else had changed before is not sealed anew, and is found.
create function muniment.digest_held(at_space uuid, memory uuid, line bigint, salt bytea) returns bytea language plpgsql stable as $$
declare
  j muniment.journal;
  m muniment.memories;
  v muniment.memory_versions;
begin
  select * into j from muniment.journal o where o.space_id = at_space and o.rev = line and o.memory_id = memory;
  select * into m from muniment.memories o where o.space_id = at_space and o.memory_id = memory and o.rev = line;
  if found then
    return muniment.digest_content(salt, j.meta, m);
  end if;
  select * into v from muniment.memory_versions o where o.space_id = at_space and o.memory_id = memory and o.from_rev = line;
  return muniment.digest_content(salt, j.meta, v);
end $$;
comment on function muniment.digest_held(uuid, uuid, bigint, bytea) is
  'The digest of the content of a line as it is: of its details, and of the memory or the former version of its revision.';

create or replace function muniment.find_seal(at_space uuid, line bigint, out content bytea, out salt bytea) language plpgsql stable as $$
begin
  select r.content, r.salt into content, salt from muniment.reseals r where r.space_id = at_space and r.rev = line
  order by r.sealed_by = 0 desc, r.sealed_by desc limit 1;
  if not found then
    select s.content, s.salt into content, salt from muniment.seals s where s.space_id = at_space and s.rev = line;
  end if;
end $$;

create function muniment.open_reseals(at_space uuid, ids uuid[], revs bigint[]) returns void language plpgsql
set client_encoding = 'UTF8' as $$
#variable_conflict use_column
declare
  one record;
  known record;
begin
  for one in select o.memory_id, o.rev from unnest(ids, revs) o (memory_id, rev) loop
    known := muniment.find_seal(at_space, one.rev);
    if muniment.digest_held(at_space, one.memory_id, one.rev, known.salt) = known.content then
      insert into muniment.reseals (space_id, sealed_by, rev, content) values (at_space, 0, one.rev, known.content)
      on conflict (space_id, sealed_by, rev) do nothing;
    end if;
  end loop;
  update muniment.seals set salt = null where space_id = at_space and rev = any(revs) and salt is not null;
  update muniment.reseals set salt = null where space_id = at_space and rev = any(revs) and salt is not null;
end $$;
comment on function muniment.open_reseals(uuid, uuid[], bigint[]) is
  'Takes the salts of lines of which an erasure changes what they left, each with its memory, and notes those that are as they were written.';

create function muniment.fill_reseals(at_space uuid, ids uuid[], revs bigint[]) returns void language plpgsql
set client_encoding = 'UTF8' as $$
#variable_conflict use_column
declare
  one record;
  fresh bytea;
  left_over bytea;
begin
  for one in select o.memory_id, o.rev from unnest(ids, revs) o (memory_id, rev) loop
    fresh := muniment.make_salt();
    left_over := muniment.digest_held(at_space, one.memory_id, one.rev, fresh);
    update muniment.reseals set content = left_over, salt = fresh where space_id = at_space and sealed_by = 0 and rev = one.rev;
  end loop;
end $$;
comment on function muniment.fill_reseals(uuid, uuid[], bigint[]) is 'Seals what an erasure has left of the lines that open_reseals noted.';
