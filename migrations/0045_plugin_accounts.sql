-- The accounts of the plugin of a host beside this database: what turns cost, which sessions are switched off, and what a person has
-- changed by a command. They hold no text of an item or a message.
create table muniment.plugin_turns (
  space_id uuid not null,
  session_id text not null,
  turn_id text not null,
  project_id text,
  at timestamptz not null,
  policy text not null,
  is_shadow boolean not null,
  recall boolean not null,
  recall_reason text not null,
  is_hit boolean,
  item_ids text[] not null,
  tokens integer not null,
  written integer not null,
  duplicates integer not null,
  refusals jsonb not null,
  remote_reads integer not null,
  remote_writes integer not null,
  queue_length integer not null,
  milliseconds jsonb not null,
  constraint plugin_turns_pk primary key (space_id, session_id, turn_id),
  constraint plugin_turns_space_fk foreign key (space_id) references muniment.spaces (space_id)
);
create index plugin_turns_by_time on muniment.plugin_turns (space_id, at desc);
comment on table muniment.plugin_turns is
  'A row is what the plugin decided, did and cost in one turn of a session: numbers, ids and reasons, and no text. Written after the reply; removed after session_ledger.events_days.';
comment on column muniment.plugin_turns.space_id is 'The space of the user.';
comment on column muniment.plugin_turns.session_id is 'The session, as the host names it.';
comment on column muniment.plugin_turns.turn_id is 'The turn, as the host names it.';
comment on column muniment.plugin_turns.project_id is 'The project in which it was; null: none.';
comment on column muniment.plugin_turns.at is 'When it was, by the clock of the host.';
comment on column muniment.plugin_turns.policy is 'The policy of the gates by which it was decided.';
comment on column muniment.plugin_turns.is_shadow is 'Whether the gates decided and counted only: nothing was shown or written.';
comment on column muniment.plugin_turns.recall is 'Whether the recall gate let it through to memory.';
comment on column muniment.plugin_turns.recall_reason is 'Why, in the product''s own words.';
comment on column muniment.plugin_turns.is_hit is 'Whether something was found; null: nothing was searched.';
comment on column muniment.plugin_turns.item_ids is 'The items that were put before the model.';
comment on column muniment.plugin_turns.tokens is 'The tokens that were added to the prompt.';
comment on column muniment.plugin_turns.written is 'How many items were written.';
comment on column muniment.plugin_turns.duplicates is 'How many finds were known already.';
comment on column muniment.plugin_turns.refusals is 'How many finds were refused, by reason, in the product''s own words.';
comment on column muniment.plugin_turns.remote_reads is 'Requests to a remote store to read.';
comment on column muniment.plugin_turns.remote_writes is 'Requests to a remote store to write.';
comment on column muniment.plugin_turns.queue_length is 'Operations that waited to be sent after it.';
comment on column muniment.plugin_turns.milliseconds is 'What each step took, by store and step.';

alter table muniment.plugin_turns enable row level security;
alter table muniment.plugin_turns force row level security;
create policy plugin_turns_own on muniment.plugin_turns to muniment_app
  using (space_id = any((select muniment.my_spaces())::uuid[]) and (select muniment.all_categories()))
  with check (space_id = any((select muniment.my_spaces())::uuid[]) and (select muniment.all_categories()));
comment on policy plugin_turns_own on muniment.plugin_turns is
  'The application reads and writes rows of the space it has entered; who has an allowlist of categories sees none.';
create policy plugin_turns_eraser on muniment.plugin_turns to muniment_eraser
  using (space_id = any((select muniment.my_spaces())::uuid[]) and (select muniment.all_categories()))
  with check (space_id = any((select muniment.my_spaces())::uuid[]) and (select muniment.all_categories()));
comment on policy plugin_turns_eraser on muniment.plugin_turns is
  'The eraser sees, removes and changes rows of the space it has entered, as far as its grants go.';
create policy plugin_turns_keeper on muniment.plugin_turns for select to muniment_keeper
  using ((select muniment.my_spaces()) is null);
comment on policy plugin_turns_keeper on muniment.plugin_turns is
  'The keeper counts over all spaces; its grants leave out sessions, turns and items.';
grant select, insert, update on muniment.plugin_turns to muniment_app;
grant select, delete on muniment.plugin_turns to muniment_eraser;
grant select (space_id, at, policy, is_shadow, is_hit, tokens, written, duplicates, refusals, remote_reads, remote_writes,
  queue_length, milliseconds) on muniment.plugin_turns to muniment_keeper;

create table muniment.plugin_switches (
  space_id uuid not null,
  session_id text not null,
  is_on boolean not null,
  changed_at timestamptz not null,
  constraint plugin_switches_pk primary key (space_id, session_id),
  constraint plugin_switches_space_fk foreign key (space_id) references muniment.spaces (space_id)
);
comment on table muniment.plugin_switches is
  'A row says whether the plugin is on in a session of a user; without one it is.';
comment on column muniment.plugin_switches.space_id is 'The space of the user.';
comment on column muniment.plugin_switches.session_id is 'The session, as the host names it.';
comment on column muniment.plugin_switches.is_on is 'Whether the plugin reads and writes there.';
comment on column muniment.plugin_switches.changed_at is 'When a person has said so.';

alter table muniment.plugin_switches enable row level security;
alter table muniment.plugin_switches force row level security;
create policy plugin_switches_own on muniment.plugin_switches to muniment_app
  using (space_id = any((select muniment.my_spaces())::uuid[]) and (select muniment.all_categories()))
  with check (space_id = any((select muniment.my_spaces())::uuid[]) and (select muniment.all_categories()));
comment on policy plugin_switches_own on muniment.plugin_switches is
  'The application reads and writes rows of the space it has entered; who has an allowlist of categories sees none.';
create policy plugin_switches_eraser on muniment.plugin_switches to muniment_eraser
  using (space_id = any((select muniment.my_spaces())::uuid[]) and (select muniment.all_categories()))
  with check (space_id = any((select muniment.my_spaces())::uuid[]) and (select muniment.all_categories()));
comment on policy plugin_switches_eraser on muniment.plugin_switches is
  'The eraser sees, removes and changes rows of the space it has entered, as far as its grants go.';
grant select, insert, update on muniment.plugin_switches to muniment_app;
grant select, delete on muniment.plugin_switches to muniment_eraser;

create table muniment.plugin_audit (
  space_id uuid not null,
  audit_id uuid not null,
  session_id text not null,
  project_id text,
  at timestamptz not null,
  action text not null,
  item_id text,
  constraint plugin_audit_pk primary key (space_id, audit_id),
  constraint plugin_audit_space_fk foreign key (space_id) references muniment.spaces (space_id),
  constraint plugin_audit_action check (action in ('pin', 'unpin', 'forget', 'off', 'on'))
);
create index plugin_audit_by_time on muniment.plugin_audit (space_id, at desc);
comment on table muniment.plugin_audit is
  'A row is what a person has changed by a command of the plugin. Removed after session_ledger.events_days.';
comment on column muniment.plugin_audit.space_id is 'The space of the user.';
comment on column muniment.plugin_audit.audit_id is 'The line.';
comment on column muniment.plugin_audit.session_id is 'The session in which it was said.';
comment on column muniment.plugin_audit.project_id is 'The project in which it was said; null: none.';
comment on column muniment.plugin_audit.at is 'When it was said, by the clock of the host.';
comment on column muniment.plugin_audit.action is 'What was changed: pin, unpin, forget, off or on.';
comment on column muniment.plugin_audit.item_id is 'The item that was changed; null: the switch of the session.';

alter table muniment.plugin_audit enable row level security;
alter table muniment.plugin_audit force row level security;
create policy plugin_audit_own on muniment.plugin_audit to muniment_app
  using (space_id = any((select muniment.my_spaces())::uuid[]) and (select muniment.all_categories()))
  with check (space_id = any((select muniment.my_spaces())::uuid[]) and (select muniment.all_categories()));
comment on policy plugin_audit_own on muniment.plugin_audit is
  'The application reads and writes rows of the space it has entered; who has an allowlist of categories sees none.';
create policy plugin_audit_eraser on muniment.plugin_audit to muniment_eraser
  using (space_id = any((select muniment.my_spaces())::uuid[]) and (select muniment.all_categories()))
  with check (space_id = any((select muniment.my_spaces())::uuid[]) and (select muniment.all_categories()));
comment on policy plugin_audit_eraser on muniment.plugin_audit is
  'The eraser sees, removes and changes rows of the space it has entered, as far as its grants go.';
grant select, insert on muniment.plugin_audit to muniment_app;
grant select, delete on muniment.plugin_audit to muniment_eraser;
