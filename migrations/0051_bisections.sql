-- Replies of bisections: each was made with a part of the statements that stood before a model, and is paid for once.
create table muniment.bisect_replies (
  space_id uuid not null,
  bisection_id uuid not null,
  statements integer[] not null,
  attempt integer not null,
  holds boolean not null,
  reply text not null,
  at timestamptz not null,
  constraint bisect_replies_pk primary key (space_id, bisection_id, statements, attempt),
  constraint bisect_replies_space_fk foreign key (space_id) references muniment.spaces (space_id),
  constraint bisect_replies_attempt_range check (attempt >= 0)
);
create index bisect_replies_by_time on muniment.bisect_replies (space_id, at);
comment on table muniment.bisect_replies is
  'A row is a reply that was made again with a part of what stood before a model. It is removed with the days of the ledger, and when anything of the space is erased; no export has it.';
comment on column muniment.bisect_replies.space_id is 'The space.';
comment on column muniment.bisect_replies.bisection_id is
  'What was asked of which turn: computed from the turn, what stood before the model, the model, and what is looked for.';
comment on column muniment.bisect_replies.statements is 'The numbers of the statements with which it was made, in order.';
comment on column muniment.bisect_replies.attempt is 'How many replies with the same statements were made before it.';
comment on column muniment.bisect_replies.holds is 'Whether it has what is looked for.';
comment on column muniment.bisect_replies.reply is 'The reply, redacted.';
comment on column muniment.bisect_replies.at is 'When it was made.';
comment on index muniment.bisect_replies_by_time is 'The replies that are past their days.';

alter table muniment.bisect_replies enable row level security;
alter table muniment.bisect_replies force row level security;
do $$
declare verb text;
begin
  foreach verb in array array['app', 'eraser'] loop
    execute format($policy$create policy %I on muniment.bisect_replies to %I
      using (space_id = any((select muniment.my_spaces())::uuid[]) and (select muniment.all_categories()))
      with check (space_id = any((select muniment.my_spaces())::uuid[]) and (select muniment.all_categories()))$policy$,
      case verb when 'app' then 'bisect_replies_own' else 'bisect_replies_eraser' end, 'muniment_' || verb);
  end loop;
  foreach verb in array array['insert', 'delete'] loop
    execute format('create policy %I on muniment.bisect_replies as restrictive for %s to muniment_app %s ((select muniment.all_categories()))',
      'bisect_replies_no_' || verb, verb, case verb when 'insert' then 'with check' else 'using' end);
    execute format('comment on policy %I on muniment.bisect_replies is %L', 'bisect_replies_no_' || verb,
      'Who has an allowlist of categories changes nothing.');
  end loop;
end $$;
comment on policy bisect_replies_own on muniment.bisect_replies is
  'The application sees the replies of the space that it has entered, and no reader of some categories any.';
comment on policy bisect_replies_eraser on muniment.bisect_replies is 'Who erases works in one space, too.';
grant select, insert, delete on muniment.bisect_replies to muniment_app;
grant select, delete on muniment.bisect_replies to muniment_eraser;
