-- A large space has indexes of its own: an HNSW index over its vectors, made by `muniment index` and found in the catalogue
-- by its name, and lists of the memories that have a word, made with it. Both are of one model and one revision: what has
-- changed since that revision is read as in any other space, so that a list is never wrong and no write has to touch it.
alter table muniment.spaces add column indexed_model text, add column indexed_rev bigint;

-- A vector of the model in use may stand in the other column while a switch is tidied: no index has it there.
create index memories_by_next on muniment.memories (space_id, next_model) where next_model is not null;

-- `dimension` is that of a word in `words`; 0: all memories of the category, counted only; below: those of one speaker, see
-- `speaker_dimension`. The heaviest memories come first. What a reader may not read has lists of its own, by category.
create table muniment.postings (
  space_id uuid not null,
  dimension int not null,
  category text not null,
  df int not null,
  memories uuid[] not null,
  weights real[] not null,
  constraint postings_pk primary key (space_id, dimension, category),
  constraint postings_space_fk foreign key (space_id) references muniment.spaces (space_id)
);
-- The first of a long list are read without the rest.
alter table muniment.postings alter column memories set storage external, alter column weights set storage external;

create function muniment.speaker_dimension(name text) returns int language sql immutable strict parallel safe as
$$ select -(hashtext(name) & 2147483647) - 1 $$;

alter table muniment.postings enable row level security;
alter table muniment.postings force row level security;
create policy postings_own on muniment.postings to muniment_app
  using (space_id = any((select muniment.my_spaces())::uuid[])
         and ((select muniment.all_categories()) or category = any((select muniment.my_categories())::text[])))
  with check (space_id = any((select muniment.my_spaces())::uuid[]) and (select muniment.all_categories()));
grant select, insert, delete on muniment.postings to muniment_app;
