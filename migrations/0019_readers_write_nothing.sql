-- Who has entered a space with an allowlist of categories reads, and of the edges only those between memories that it sees. Restrictive
-- policies go beside those that say which rows there are at all.
create function muniment.sees_memory(at_space uuid, memory uuid) returns boolean language plpgsql stable as $$
begin
  return exists (select from muniment.memories m where m.space_id = at_space and m.memory_id = memory);
end $$;
comment on function muniment.sees_memory(uuid, uuid) is 'Whether the transaction sees a memory.';

do $$
declare
  name text;
  verb text;
begin
  foreach name in array array[
    'spaces', 'memories', 'memory_versions', 'journal', 'relations', 'postings', 'thread_revision', 'turns', 'events', 'extractions',
    'consent_requests', 'spend_days', 'spend', 'swept', 'consolidation_runs', 'pair_fingerprints', 'erasures'
  ] loop
    foreach verb in array array['insert', 'update', 'delete'] loop
      execute format('create policy %I on muniment.%I as restrictive for %s to muniment_app %s ((select muniment.all_categories()))',
        name || '_no_' || verb, name, verb, case verb when 'insert' then 'with check' else 'using' end);
      execute format('comment on policy %I on muniment.%I is %L', name || '_no_' || verb, name,
        'Who has an allowlist of categories changes nothing.');
    end loop;
  end loop;
end $$;

create policy relations_reader on muniment.relations as restrictive for select to muniment_app
  using ((select muniment.all_categories()) or muniment.sees_memory(space_id, from_id) and muniment.sees_memory(space_id, to_id));
comment on policy relations_reader on muniment.relations is 'Who has an allowlist of categories reads the edges between memories that it sees.';
