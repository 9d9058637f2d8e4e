-- The book of a plugin: numbers, ids and reasons, and no text of an item or a message. Times are seconds since 1970.
create table switches (
  tenant text not null,
  user text not null,
  session text not null,
  is_on integer not null,
  changed_at real not null,
  primary key (tenant, user, session)
) strict, without rowid;

-- What a turn cost and did. A later report of a turn takes the place of the former.
create table turns (
  tenant text not null,
  user text not null,
  session text not null,
  turn_id text not null,
  project text,
  at real not null,
  policy text not null,
  is_shadow integer not null,
  recall integer not null,
  recall_reason text not null,
  is_hit integer,
  item_ids text not null,
  tokens integer not null,
  written integer not null,
  duplicates integer not null,
  refusals text not null,
  remote_reads integer not null,
  remote_writes integer not null,
  queue_length integer not null,
  milliseconds text not null,
  primary key (tenant, user, session, turn_id)
) strict, without rowid;
create index turns_by_time on turns (tenant, user, at);

-- What a person has changed by a command.
create table audit (
  n integer primary key,
  tenant text not null,
  user text not null,
  session text not null,
  project text,
  at real not null,
  action text not null,
  item_id text
) strict;
