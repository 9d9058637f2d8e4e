-- Requests that a caller may send again: under the caller's key the receipt of the write, kept in the transaction of that write. For a day.
create table muniment.requests (
  space_id uuid not null,
  key text not null,
  digest bytea not null,
  attempt uuid not null,
  receipt jsonb not null,
  answered boolean not null,
  at timestamptz not null,
  constraint requests_pk primary key (space_id, key),
  constraint requests_space_fk foreign key (space_id) references muniment.spaces (space_id),
  constraint requests_key_length check (length(key) between 1 and 200)
);
comment on table muniment.requests is
  'A row is a write that its caller may ask for again, by the key of the caller: then its receipt is the answer, and nothing is written. '
  'Kept for a day; no export has it.';
comment on column muniment.requests.space_id is 'The space.';
comment on column muniment.requests.key is 'The idempotency key that the caller gave.';
comment on column muniment.requests.digest is 'SHA-256 of what was asked. Empty: something was erased since, and what was asked is unknown.';
comment on column muniment.requests.attempt is 'The call that wrote: all plans of one call are one attempt.';
comment on column muniment.requests.receipt is 'The receipt as JSON. After an erasure only its revision.';
comment on column muniment.requests.answered is 'Whether the receipt is whole. Until then it is that of the first plan that was committed.';
comment on column muniment.requests.at is 'When it was written.';

alter table muniment.requests enable row level security;
alter table muniment.requests force row level security;
do $$
declare verb text;
begin
  foreach verb in array array['app', 'eraser'] loop
    execute format($policy$create policy %I on muniment.requests to %I
      using (space_id = any((select muniment.my_spaces())::uuid[]) and (select muniment.all_categories()))
      with check (space_id = any((select muniment.my_spaces())::uuid[]) and (select muniment.all_categories()))$policy$,
      case verb when 'app' then 'requests_own' else 'requests_eraser' end, 'muniment_' || verb);
  end loop;
  foreach verb in array array['insert', 'update', 'delete'] loop
    execute format('create policy %I on muniment.requests as restrictive for %s to muniment_app %s ((select muniment.all_categories()))',
      'requests_no_' || verb, verb, case verb when 'insert' then 'with check' else 'using' end);
    execute format('comment on policy %I on muniment.requests is %L', 'requests_no_' || verb,
      'Who has an allowlist of categories changes nothing.');
  end loop;
end $$;
comment on policy requests_own on muniment.requests is 'The application sees the requests of the space that it has entered, and no reader of some categories any.';
comment on policy requests_eraser on muniment.requests is 'Who erases works in one space, too.';
grant select, insert, update on muniment.requests to muniment_app;
grant select, delete on muniment.requests to muniment_eraser;
grant update (digest, receipt) on muniment.requests to muniment_eraser;
