-- The journal is a chain: each line has a seal, a digest over the seal before it and its own content. The encoding, and what is checked by
-- it, stand in docs/evidence.md; `memory/rules/evidence/seals.py` computes the same digests without a function of this file.
alter table muniment.spaces add column sealed_from bigint not null default 0, add column head bytea,
  add constraint spaces_head_length check (octet_length(head) = 32);
comment on column muniment.spaces.sealed_from is
  'The revision up to which the journal was sealed at once, by a migration or a restore; every later line is sealed as it is written.';
comment on column muniment.spaces.head is 'The digest of the latest line of the journal; null before the first.';

create table muniment.seals (
  space_id uuid not null,
  rev bigint not null,
  digest bytea not null,
  content bytea not null,
  salt bytea,
  constraint seals_pk primary key (space_id, rev),
  constraint seals_lengths check (octet_length(digest) = 32 and octet_length(content) = 32 and octet_length(salt) = 32)
);
comment on table muniment.seals is
  'A row seals one line of the journal. Written with the line by seal_lines; an erasure takes the salts of what it removes or changes.';
comment on column muniment.seals.space_id is 'The space.';
comment on column muniment.seals.rev is 'The revision of the line.';
comment on column muniment.seals.digest is 'SHA-256 over the digest of the line before, that of the line with content, and what an erasure sealed anew.';
comment on column muniment.seals.content is 'SHA-256 over the salt, the details of the line, and the memory as the line left it.';
comment on column muniment.seals.salt is 'Random bytes, without which content says nothing. Null: an erasure has removed or changed what is sealed.';

create table muniment.reseals (
  space_id uuid not null,
  sealed_by bigint not null,
  rev bigint not null,
  content bytea not null,
  salt bytea,
  constraint reseals_pk primary key (space_id, sealed_by, rev),
  constraint reseals_lengths check (octet_length(content) = 32 and octet_length(salt) = 32)
);
create index reseals_by_line on muniment.reseals (space_id, rev, sealed_by);
comment on table muniment.reseals is 'A row seals anew what an erasure has left of the content of a line; the digest of a line of the erasure is over it.';
comment on column muniment.reseals.space_id is 'The space.';
comment on column muniment.reseals.sealed_by is 'The revision of the erasure''s line whose digest is over this row; 0 until that line is written, in the same transaction.';
comment on column muniment.reseals.rev is 'The revision of the line whose content it is.';
comment on column muniment.reseals.content is 'SHA-256 over the salt, what is left of the details of the line, and of the memory as the line left it.';
comment on column muniment.reseals.salt is 'Random bytes. Null: a later erasure has removed or changed it again.';
comment on index muniment.reseals_by_line is 'What an erasure left of a line.';

do $$
declare
  name text;
  verb text;
begin
  foreach name in array array['seals', 'reseals'] loop
    execute format('alter table muniment.%I enable row level security', name);
    execute format('alter table muniment.%I force row level security', name);
    foreach verb in array array['app', 'eraser'] loop
      execute format($policy$create policy %I on muniment.%I to %I
        using (space_id = any((select muniment.my_spaces())::uuid[]) and (select muniment.all_categories()))
        with check (space_id = any((select muniment.my_spaces())::uuid[]) and (select muniment.all_categories()))$policy$,
        name || case verb when 'app' then '_own' else '_eraser' end, name, 'muniment_' || verb);
    end loop;
    execute format('comment on policy %I on muniment.%I is %L', name || '_own', name,
      'The application sees and adds the seals of the space that it has entered, and no reader of some categories any.');
    execute format('comment on policy %I on muniment.%I is %L', name || '_eraser', name, 'Who erases works in one space, too.');
    foreach verb in array array['insert', 'update', 'delete'] loop
      execute format('create policy %I on muniment.%I as restrictive for %s to muniment_app %s ((select muniment.all_categories()))',
        name || '_no_' || verb, name, verb, case verb when 'insert' then 'with check' else 'using' end);
      execute format('comment on policy %I on muniment.%I is %L', name || '_no_' || verb, name,
        'Who has an allowlist of categories changes nothing.');
    end loop;
  end loop;
end $$;
grant select, insert on muniment.seals to muniment_app;
grant select on muniment.reseals to muniment_app;
grant select, insert, delete on muniment.seals, muniment.reseals to muniment_eraser;
grant update (salt) on muniment.seals to muniment_eraser;
grant update (sealed_by, content, salt) on muniment.reseals to muniment_eraser;

-- In place of a foreign key, which each line would pay for.
create function muniment.drop_seals() returns trigger language plpgsql as $$
begin
  delete from muniment.reseals where space_id = old.space_id;
  delete from muniment.seals where space_id = old.space_id;
  return null;
end $$;
comment on function muniment.drop_seals() is 'Removes the seals of a space that is gone.';
create trigger spaces_seals after delete on muniment.spaces for each row execute function muniment.drop_seals();
comment on trigger spaces_seals on muniment.spaces is 'The seals of a space go with it.';

-- Of the details of a line these are words of the product, and stay in the line when it is erased.
create function muniment.private_meta(meta jsonb) returns text language sql immutable parallel safe as $$
  select nullif((meta - '{why,notes,consent,field,run,hard}'::text[])::text, '{}')
$$;
comment on function muniment.private_meta(jsonb) is 'What a line of the journal has of words that are not the product''s, as text; null where it has none.';

create function muniment.make_salt() returns bytea language plpgsql volatile as $$
begin
  return uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid());
end $$;
comment on function muniment.make_salt() is '32 bytes, 244 bits of which are from the server''s secure source.';

-- One function for a memory and one for a former version: whole rows, so that a planner puts the columns in their place.
do $$
declare
  place text;
begin
  foreach place in array array['memories', 'memory_versions'] loop
    execute format($make$create function muniment.digest_content(salt bytea, meta jsonb, held muniment.%I) returns bytea language sql stable as $body$
  select sha256(record_send(row('muniment content 1'::text, salt, muniment.private_meta(meta), held.kind, held.category, held.text,
    held.fact, held.stable_key, held.importance, held.confidence, held.trust, held.pinned, held.state, held.tags, held.agent_id,
    held.run_id, held.actor_id, held.role, held.session_id, held.thread_id, held.event_time, held.created_at, held.updated_at,
    held.purge_at, held.superseded_by, held.context, held.turns, held.aliases, held.project_id, held.app_id, held.reach,
    held.source, held.expires_at)))
$body$
$make$, place);
    execute format('comment on function muniment.digest_content(bytea, jsonb, muniment.%I) is %L', place,
      'The digest of the content of a line: of the salt, its details, and the memory that it left; of nulls where the memory is gone.');
  end loop;
end $$;

create function muniment.digest_line(line muniment.journal, content bytea) returns bytea language sql stable as $$
  select sha256(record_send(row('muniment line 1'::text, line.space_id, line.rev, line.memory_id, line.action, line.old_ref,
    line.new_ref, line.thread_id, line.node, line.actor, line.band, line.sim, line.ts, line.category, line.meta -> 'why',
    line.meta -> 'notes', line.meta -> 'consent', line.meta -> 'field', line.meta -> 'run', line.meta -> 'hard', content)))
$$;
comment on function muniment.digest_line(muniment.journal, bytea) is 'The digest of a line alone: of its columns and of the digest of its content.';

create function muniment.digest_space(at_space uuid, sealed_from bigint) returns bytea language sql stable as $$
  select sha256(record_send(row('muniment space 1'::text, at_space, sealed_from)))
$$;
comment on function muniment.digest_space(uuid, bigint) is 'What the chain of a space begins with.';

-- Runs in the statement that inserts lines, in whatever process. Another role than the application's and the eraser's seals nothing, and
-- what is restored is sealed when it is whole. The salts of the lines of a statement are digests of one secret, which is not kept.
create function muniment.seal_lines() returns trigger language plpgsql
set client_encoding = 'UTF8' set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
#variable_conflict use_column
declare
  one record;
  secret bytea := muniment.make_salt();
  at_space uuid;
  before bytea;
  revs bigint[] := '{}';
  digests bytea[] := '{}';
  contents bytea[] := '{}';
  salts bytea[] := '{}';
begin
  for one in
    select l.space_id, l.rev, l.salt, l.content, l.before, muniment.digest_line(row(l.space_id, l.rev, l.memory_id, l.action, l.old_ref,
      l.new_ref, l.thread_id, l.node, l.actor, l.band, l.sim, l.meta, l.ts, l.category)::muniment.journal, l.content) as line
    from (
      select a.*, s.salt, coalesce(m.content, muniment.digest_content(s.salt, a.meta, null::muniment.memories)) as content,
        coalesce(p.head, muniment.digest_space(p.space_id, p.sealed_from)) as before
      from added a  -- a plan that was made for one line is as good for a thousand: each looks its rows up by their keys
      cross join lateral (select sha256(secret || int8send(a.rev)) as salt offset 0) s
      cross join lateral (select o.* from muniment.spaces o where o.space_id = a.space_id limit 1) p
      left join lateral (
        select muniment.digest_content(s.salt, a.meta, o) as content from muniment.memories o
        where o.space_id = a.space_id and o.memory_id = a.memory_id and o.rev = a.rev limit 1) m on true
      where p.sealed_from < a.rev
      offset 0
    ) l order by l.space_id, l.rev
  loop
    if at_space is distinct from one.space_id then
      if at_space is not null then
        perform muniment.keep_seals(at_space, revs, digests, contents, salts);
        revs := '{}'; digests := '{}'; contents := '{}'; salts := '{}';
      end if;
      at_space := one.space_id;
      before := one.before;
      if current_user = 'muniment_eraser' then
        one.line := one.line || muniment.close_reseals(at_space, one.rev);
      end if;
    end if;
    before := sha256(before || one.line);
    revs := revs || one.rev;
    digests := digests || before;
    contents := contents || one.content;
    salts := salts || one.salt;
  end loop;
  if at_space is not null then
    perform muniment.keep_seals(at_space, revs, digests, contents, salts);
  end if;
  return null;
end $$;
comment on function muniment.seal_lines() is 'Seals the lines that a statement has added to the journal.';

create function muniment.keep_seals(at_space uuid, revs bigint[], digests bytea[], contents bytea[], salts bytea[]) returns void
language plpgsql as $$
begin
  with kept as (
    insert into muniment.seals (space_id, rev, digest, content, salt)
    select at_space, s.rev, s.digest, s.content, s.salt from unnest(revs, digests, contents, salts) s (rev, digest, content, salt)
  )
  update muniment.spaces set head = digests[cardinality(digests)] where space_id = at_space;
end $$;
comment on function muniment.keep_seals(uuid, bigint[], bytea[], bytea[], bytea[]) is 'Inserts seals in order, and makes the last one the head of the space.';

create function muniment.close_reseals(at_space uuid, line bigint) returns bytea language plpgsql as $$
begin
  update muniment.reseals set sealed_by = line where space_id = at_space and sealed_by = 0;
  return coalesce((
    select sha256(string_agg(record_send(row('muniment reseal 1'::text, r.rev, r.content)), ''::bytea order by r.rev))
    from muniment.reseals r where r.space_id = at_space and r.sealed_by = line), '');
end $$;
comment on function muniment.close_reseals(uuid, bigint) is 'Puts what the erasure has sealed anew under its line, and returns the digest of it; empty for nothing.';

-- What an erasure changes or removes is sealed anew, unless something else had changed it before: then it gets no seal, and is found.
create function muniment.find_seal(at_space uuid, line bigint, out content bytea, out salt bytea) language sql stable as $$
  (select r.content, r.salt from muniment.reseals r where r.space_id = at_space and r.rev = line
    order by r.sealed_by = 0 desc, r.sealed_by desc limit 1)
  union all
  (select s.content, s.salt from muniment.seals s where s.space_id = at_space and s.rev = line)
  limit 1
$$;
comment on function muniment.find_seal(uuid, bigint) is 'The seal that the content of a line has at last.';

create function muniment.keep_reseal(at_space uuid, line bigint, new_content bytea, new_salt bytea) returns void language plpgsql as $$
begin
  update muniment.seals set salt = null where space_id = at_space and rev = line and salt is not null;
  update muniment.reseals set salt = null where space_id = at_space and rev = line and salt is not null;
  if new_content is not null then
    insert into muniment.reseals as r (space_id, sealed_by, rev, content, salt) values (at_space, 0, line, new_content, new_salt)
    on conflict (space_id, sealed_by, rev) do update set content = excluded.content, salt = excluded.salt;
  end if;
end $$;
comment on function muniment.keep_reseal(uuid, bigint, bytea, bytea) is
  'Takes the salts of a line, and keeps what is left of its content under a new one; null: nothing is kept.';

do $$
declare
  place text;
  line text;
begin
  for place, line in values ('memories', 'rev'), ('memory_versions', 'from_rev') loop
    execute format($make$create function muniment.reseal_%1$s() returns trigger language plpgsql set client_encoding = 'UTF8' as $body$
declare
  known record;
  details jsonb := (select j.meta from muniment.journal j where j.space_id = old.space_id and j.rev = old.%2$I);
  fresh bytea := muniment.make_salt();
  left_over muniment.%1$I;
begin
  select * into known from muniment.find_seal(old.space_id, old.%2$I);
  if known.content is null then
    return null;
  end if;
  if tg_op = 'UPDATE' then
    left_over := new;
  end if;
  perform muniment.keep_reseal(old.space_id, old.%2$I,
    case when muniment.digest_content(known.salt, details, old) = known.content
      then muniment.digest_content(fresh, details, left_over) end, fresh);
  return null;
end $body$
$make$, place, line);
    execute format('comment on function muniment.reseal_%s() is %L', place, 'Seals anew what an erasure has left of a row.');
    execute format($make$create trigger %1$s_reseal after update or delete on muniment.%1$I for each row
      when (current_user = 'muniment_eraser') execute function muniment.reseal_%1$s()$make$, place);
    execute format('comment on trigger %1$s_reseal on muniment.%1$I is %2$L', place, 'Only an erasure changes what is sealed.');
  end loop;
end $$;

create function muniment.reseal_journal() returns trigger language plpgsql set client_encoding = 'UTF8' as $$
declare
  known record;
  fresh bytea := muniment.make_salt();
  live muniment.memories;
  former muniment.memory_versions;
begin
  select * into known from muniment.find_seal(old.space_id, old.rev);
  if known.content is null or muniment.private_meta(old.meta) is not distinct from muniment.private_meta(new.meta) then
    return null;
  end if;
  select m.* into live from muniment.memories m
  where m.space_id = old.space_id and m.memory_id = old.memory_id and m.rev = old.rev;
  select v.* into former from muniment.memory_versions v
  where v.space_id = old.space_id and v.memory_id = old.memory_id and v.from_rev = old.rev;
  perform muniment.keep_reseal(old.space_id, old.rev,
    case
      when live.memory_id is not null and muniment.digest_content(known.salt, old.meta, live) = known.content
        then muniment.digest_content(fresh, new.meta, live)
      when live.memory_id is null and muniment.digest_content(known.salt, old.meta, former) = known.content
        then muniment.digest_content(fresh, new.meta, former)
    end, fresh);
  return null;
end $$;
comment on function muniment.reseal_journal() is 'Seals anew what an erasure has left of the details of a line.';

-- Seals at once what is there: of a journal that is older than seals, and of a space that was restored. A row without a line of its own
-- has a seal of itself.
create function muniment.seal_space(at_space uuid) returns void language plpgsql set client_encoding = 'UTF8' as $$
#variable_conflict use_column
declare
  one record;
  before bytea;
  fresh bytea;
  content bytea;
  latest bigint;
begin
  update muniment.spaces set sealed_from = rev where space_id = at_space
  returning muniment.digest_space(space_id, sealed_from) into before;
  for one in
    select coalesce(j.rev, h.rev) as rev, coalesce(j.line, row(at_space, h.rev, null, null, null, null, null, null, null, null, null,
        '{}', null, null)::muniment.journal) as line, h.live, h.former
    from (select o.rev, o.memory_id, o as line from muniment.journal o where o.space_id = at_space) j
    full join (
      select m.rev, m.memory_id, m as live, null::muniment.memory_versions as former from muniment.memories m where m.space_id = at_space
      union all
      select v.from_rev, v.memory_id, null, v from muniment.memory_versions v where v.space_id = at_space
    ) h on h.rev = j.rev and h.memory_id = j.memory_id
    order by 1, j.rev is null
  loop
    continue when one.rev = latest;  -- no writer leaves two rows of one revision
    latest := one.rev;
    fresh := muniment.make_salt();
    content := case when (one.live).memory_id is not null then muniment.digest_content(fresh, (one.line).meta, one.live)
      else muniment.digest_content(fresh, (one.line).meta, one.former) end;
    before := sha256(before || muniment.digest_line(one.line, content));
    insert into muniment.seals (space_id, rev, digest, content, salt) values (at_space, one.rev, before, content, fresh);
  end loop;
  update muniment.spaces set head = before where space_id = at_space and exists (
    select from muniment.seals s where s.space_id = at_space);
end $$;
comment on function muniment.seal_space(uuid) is 'Seals all lines of a space that has no seal yet.';

-- The owner is held by row-level security, too, and seals what there is.
do $$
declare
  name text;
  one uuid;
begin
  foreach name in array array['spaces', 'memories', 'memory_versions', 'journal', 'seals'] loop
    execute format('alter table muniment.%I no force row level security', name);
  end loop;
  for one in select space_id from muniment.spaces where rev > 0 loop
    perform muniment.seal_space(one);
  end loop;
  foreach name in array array['spaces', 'memories', 'memory_versions', 'journal', 'seals'] loop
    execute format('alter table muniment.%I force row level security', name);
  end loop;
end $$;

create trigger journal_seal after insert on muniment.journal referencing new table as added for each statement
  when (current_user in ('muniment_app', 'muniment_eraser')) execute function muniment.seal_lines();
comment on trigger journal_seal on muniment.journal is 'A line is sealed in the statement that adds it.';
create trigger journal_reseal after update on muniment.journal for each row
  when (current_user = 'muniment_eraser' and old.meta is distinct from new.meta) execute function muniment.reseal_journal();
comment on trigger journal_reseal on muniment.journal is 'Only an erasure changes a line, and only its details.';
