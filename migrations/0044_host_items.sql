-- Items of hosts: what a host of the plugin keeps under an id of its own, and the memory to which this id leads for ever.
create table muniment.host_items (
  space_id uuid not null,
  item_id uuid not null,
  memory_id uuid,
  digest bytea not null,
  said bytea,
  forgotten_at timestamptz,
  constraint host_items_pk primary key (space_id, item_id),
  constraint host_items_space_fk foreign key (space_id) references muniment.spaces (space_id),
  constraint host_items_digest_length check (octet_length(digest) in (0, 32)),
  constraint host_items_said_length check (octet_length(said) = 32)
);
create index host_items_by_memory on muniment.host_items (space_id, memory_id);
create index host_items_by_said on muniment.host_items (space_id, said) where said is not null;
comment on table muniment.host_items is
  'A row is an id that a host of the plugin has given, and the memory to which it leads. It is written with the memory; no export has it.';
comment on column muniment.host_items.space_id is 'The space.';
comment on column muniment.host_items.item_id is 'The id that the host has made. A new memory has the same.';
comment on column muniment.host_items.memory_id is
  'The memory that says it: another one than its own where the same was known. Null: it is gone, or was forgotten before it came.';
comment on column muniment.host_items.digest is 'SHA-256 of what the item says: the same again is no write. Empty: it is forgotten or erased.';
comment on column muniment.host_items.forgotten_at is 'Since when it is forgotten: what comes under this id is refused. Null: it is not.';
comment on column muniment.host_items.said is
  'SHA-256 of the space and of the words that were forgotten: they are refused under another id, too. Null: not forgotten, or erased.';
comment on index muniment.host_items_by_said is 'The words that were forgotten.';
comment on index muniment.host_items_by_memory is 'The items that became a memory.';

alter table muniment.host_items enable row level security;
alter table muniment.host_items force row level security;
do $$
declare verb text;
begin
  foreach verb in array array['app', 'eraser'] loop
    execute format($policy$create policy %I on muniment.host_items to %I
      using (space_id = any((select muniment.my_spaces())::uuid[]) and (select muniment.all_categories()))
      with check (space_id = any((select muniment.my_spaces())::uuid[]) and (select muniment.all_categories()))$policy$,
      case verb when 'app' then 'host_items_own' else 'host_items_eraser' end, 'muniment_' || verb);
  end loop;
  foreach verb in array array['insert', 'update', 'delete'] loop
    execute format('create policy %I on muniment.host_items as restrictive for %s to muniment_app %s ((select muniment.all_categories()))',
      'host_items_no_' || verb, verb, case verb when 'insert' then 'with check' else 'using' end);
    execute format('comment on policy %I on muniment.host_items is %L', 'host_items_no_' || verb,
      'Who has an allowlist of categories changes nothing.');
  end loop;
end $$;
comment on policy host_items_own on muniment.host_items is
  'The application sees the items of the space that it has entered, and no reader of some categories any.';
comment on policy host_items_eraser on muniment.host_items is 'Who erases works in one space, too.';
grant select, insert, update on muniment.host_items to muniment_app;
grant select, delete on muniment.host_items to muniment_eraser;
grant update (memory_id, digest, said) on muniment.host_items to muniment_eraser;

-- A token may be for some projects alone.
alter table muniment.tokens add column projects text[] not null default '{}';
comment on column muniment.tokens.projects is
  'The projects whose items it may read and write, beside what is found everywhere; none: all. With some it opens nothing but the store of items.';
