-- One owner of items: a user of a tenant. `revision` grows with each write of the owner's items, `removed` is the
-- revision of the last write that removed rows, which a cache cannot see otherwise.
create table space (
    space integer primary key,
    tenant text not null,
    user text not null,
    revision integer not null default 0,
    removed integer not null default 0,
    compared integer not null default 0,  -- up to which near-duplicates were looked for
    unique (tenant, user)
) strict;

-- `n` is the number of the row in `word` and `vector`. Times are microseconds since 1970 in UTC. `place` is where the
-- item is found: '' everywhere, 'p:' and the project, 's:' and the session. Of a forgotten item all texts are gone.
create table item (
    n integer primary key,
    space integer not null references space,
    id text not null,
    type text not null,
    scope text not null,
    project text,
    session text,
    place text not null,
    content text not null,
    summary text,
    tags text not null,  -- a JSON list
    keywords text not null,  -- a JSON list
    confidence real not null,
    importance real not null,
    source text not null,
    origin text,
    created integer not null,
    updated integer,
    accessed integer,
    expires integer,
    forgotten integer,  -- when it was forgotten; null for an item that is there
    fetched integer,  -- when it was found on a server; null for an item of this file
    pinned integer not null,
    changed integer not null,  -- when it was last said: `updated`, or else `created`
    revision integer not null,
    sameness blob not null,  -- a keyed digest of type, place and normalised content
    words text not null,  -- its lexemes with a space between
    unique (space, id)
) strict;
create index item_sameness on item (space, sameness) where forgotten is null;
create index item_revision on item (space, revision);
create index item_changed on item (space, changed, id) where forgotten is null;

-- The lexemes are made by the program, which finds Chinese, too; this tokenizer only splits them at the spaces.
create view worded_item as select n, words from item where words <> '';
create virtual table word using fts5(
    words, content='worded_item', content_rowid='n', tokenize="unicode61 remove_diacritics 0"
);

-- Vectors as half floats, each with the name of the model that made it.
create table vector (
    n integer primary key references item on delete cascade,
    model text not null,
    data blob not null
) strict;

-- What was forgotten: ids and keyed digests, no text. They stay when the item's row is purged.
create table tombstone (
    space integer not null references space,
    id text not null,
    digest blob,  -- of the normalised content; null where the content was never here
    primary key (space, id)
) strict, without rowid;
create index tombstone_digest on tombstone (space, digest);

-- One row: the random key of the digests of this file, and how many writes have removed texts that may still be in the
-- index of words or in the log.
create table file (
    salt blob not null,
    must_erase integer not null default 0
) strict;
insert into file (salt) values (randomblob(32));
