-- A reply that is made again may call a tool as its turn did not: no tool runs again, so that the reply ends there.
alter table muniment.bisect_replies add column strayed boolean not null default false;
comment on column muniment.bisect_replies.strayed is
  'Whether it called a tool as the turn did not; its text then says which call, and it has nothing that is looked for.';
