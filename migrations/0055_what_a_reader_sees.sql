-- A reader of some categories sees an edge whose two ends it sees. A search meets hundreds of edges: each was a call of a function for each
-- end, and is one look at an index that is planned with the statement.
alter policy relations_reader on muniment.relations using ((select muniment.all_categories()) or (
  select count(*) from muniment.memories m where m.space_id = relations.space_id and m.memory_id in (from_id, to_id)) = 2);
drop function muniment.sees_memory(uuid, uuid);

-- Citus takes no subquery in a policy: there `distribute.sql` has it call this.
create function muniment.sees_edge(at_space uuid, one uuid, other uuid) returns boolean language plpgsql stable as $$
begin
  return (
    select count(*) = case when one = other then 1 else 2 end from muniment.memories m
    where m.space_id = at_space and m.memory_id in (one, other));
end $$;
comment on function muniment.sees_edge(uuid, uuid, uuid) is 'Whether the transaction sees both ends of an edge.';

-- `describe_readers` is called in the space that reads. A function's own setting does not reach a node of Citus, where the issuer then sees
-- no share: it sees those by which the entered space reads others.
create policy shares_of_a_reader on muniment.shares for select to muniment_issuer
  using (reader_id = any((select muniment.my_spaces())::uuid[]) and (select muniment.all_categories()));
comment on policy shares_of_a_reader on muniment.shares is
  'The issuer sees the shares by which the entered space reads others: list_openings tells of them.';
