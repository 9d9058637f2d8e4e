-- Digests of items of hosts are made under the key of the installation, which no database has. The former ones were of short texts and
-- without a key, so they go: an item that comes again is an ordinary write, and words that were forgotten are known by their ids alone.
alter table muniment.host_items no force row level security;
update muniment.host_items set digest = '', said = null where digest <> '' or said is not null;
alter table muniment.host_items force row level security;
comment on column muniment.host_items.digest is
  'HMAC-SHA256, under a key of the installation, of the space and of what the item says: the same again is no write. Empty: it is erased.';
comment on column muniment.host_items.said is
  'HMAC-SHA256, under the same key, of the space and of the words that were forgotten: they are refused under another id, too. Null: not forgotten, or erased.';
