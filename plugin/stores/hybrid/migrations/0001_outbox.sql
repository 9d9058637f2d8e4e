-- What waits to be sent, in the order in which it was done. A row is written in the transaction of the change that it
-- tells of. Times are microseconds since 1970 in UTC. With `refusal` it is set aside: not sent again, and its text gone.
create table outbox (
    n integer primary key autoincrement,
    operation text not null unique,
    tenant text not null,
    user text not null,
    project text,
    session text,
    verb text not null,
    item text not null,
    payload text,  -- of an upsert: the item as JSON
    made integer not null,
    attempts integer not null default 0,
    refusal text
) strict;
create index outbox_waiting on outbox (tenant, user, n) where refusal is null;
create index outbox_item on outbox (tenant, user, item);

-- Ids that were given here to what the server knew under another one.
create table alias (
    tenant text not null,
    user text not null,
    item text not null,
    server text not null,
    primary key (tenant, user, item)
) strict, without rowid;
create index alias_server on alias (tenant, user, server);

-- How far an owner's items agree with the server: `revision` is that up to which its changes are here. `credit` counts
-- the requests that may be made, of which each turn brings a share.
create table progress (
    tenant text not null,
    user text not null,
    revision integer not null default 0,
    credit real not null default 1,
    dropped integer not null default 0,
    failures integer not null default 0,
    next_at integer,
    last_error text,
    sent_at integer,
    primary key (tenant, user)
) strict, without rowid;
