-- Items of agents: a value under a namespace and a key, as the program has put it. They are no memories: nothing merges, reads or
-- redacts them. The id is derived from namespace and key, which may be of any length.
create table muniment.items (
  space_id uuid not null,
  item_id uuid not null,
  namespace text[] not null,
  key text not null,
  value json not null,
  fields jsonb not null,
  paths text[] not null,
  vectors halfvec[] not null,
  model text not null,
  ttl interval,
  expires_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint items_pk primary key (space_id, item_id),
  constraint items_space_fk foreign key (space_id) references muniment.spaces (space_id),
  constraint items_ttl check ((ttl is null) = (expires_at is null))
);
create index items_expiring on muniment.items (space_id, expires_at) where expires_at is not null;
comment on table muniment.items is 'A row is an item of a program: a value under a namespace and a key, verbatim.';
comment on column muniment.items.item_id is 'Derived from the namespace and the key.';
comment on column muniment.items.namespace is 'The labels of the namespace, from the root.';
comment on column muniment.items.key is 'The key within the namespace.';
comment on column muniment.items.value is 'The value, as it was put.';
comment on column muniment.items.fields is 'The value for filters: characters that jsonb cannot hold are replaced.';
comment on column muniment.items.paths is 'The paths of the value whose texts are searched by meaning; none: it is not.';
comment on column muniment.items.vectors is 'The vectors of these texts; none until they are made.';
comment on column muniment.items.model is 'The embedder of the vectors; empty until they are made.';
comment on column muniment.items.ttl is 'How long the item lives from when it was put or refreshed; null: for ever.';
comment on column muniment.items.expires_at is 'From when on it is gone; null: never.';
comment on column muniment.items.updated_at is 'When it was put last.';

alter table muniment.items enable row level security;
alter table muniment.items force row level security;
create policy items_own on muniment.items to muniment_app
  using (space_id = any((select muniment.my_spaces())::uuid[]) and (select muniment.all_categories()))
  with check (space_id = any((select muniment.my_spaces())::uuid[]) and (select muniment.all_categories()));
comment on policy items_own on muniment.items is
  'The application reads and writes items of the space it has entered; who has an allowlist of categories sees none.';
create policy items_eraser on muniment.items to muniment_eraser
  using (space_id = any((select muniment.my_spaces())::uuid[]) and (select muniment.all_categories()))
  with check (space_id = any((select muniment.my_spaces())::uuid[]) and (select muniment.all_categories()));
comment on policy items_eraser on muniment.items is
  'The eraser sees, removes and changes rows of the space it has entered, as far as its grants go.';
grant select, insert, update, delete on muniment.items to muniment_app;
grant select, delete on muniment.items to muniment_eraser;
