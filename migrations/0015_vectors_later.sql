-- A memory that is written while the embedder is away has no vector yet: its model is the empty text, and its vector a placeholder
-- that no search compares, since each compares the vectors of one model.
create index memories_unembedded on muniment.memories (space_id, memory_id) where embedding_model = '';
create index memory_versions_unembedded on muniment.memory_versions (space_id, memory_id, from_rev) where embedding_model = '';

-- As before; a plan without a vector is of no embedder.
create or replace function muniment.expect_embedder(wanted text) returns boolean language plpgsql stable as $$
declare used text := (select e.model from muniment.embedders e where e.active);
begin
  if wanted is distinct from '' and used is distinct from wanted then
    raise exception using errcode = 'MU002', message = coalesce(used, 'none'), detail = wanted;
  end if;
  return true;
end $$;

comment on index muniment.memories_unembedded is 'The memories that wait for a vector.';
comment on index muniment.memory_versions_unembedded is 'The former versions that wait for a vector.';
comment on column muniment.memories.embedding_model is 'The model of embedding; empty while the memory waits for a vector.';
