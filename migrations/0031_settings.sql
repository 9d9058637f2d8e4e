-- Settings that an operator changes while processes run. They are the installation's, in no space: the application reads them, and
-- only the keeper writes them. What was changed stays as a history that nobody changes.
create table muniment.setting_overrides (
  key text not null,
  value jsonb not null,
  rev bigint not null,
  changed_by text not null,
  changed_at timestamptz not null,
  constraint setting_overrides_pk primary key (key)
);
comment on table muniment.setting_overrides is 'A row is a setting that has another value than the file of each process says.';
comment on column muniment.setting_overrides.key is 'The setting, as in recall.top_k.';
comment on column muniment.setting_overrides.value is 'Its value; a JSON null where the setting allows none.';
comment on column muniment.setting_overrides.rev is 'The revision of the settings that brought it.';
comment on column muniment.setting_overrides.changed_by is 'Who brought it: a token by its id, or an account of the command line.';
comment on column muniment.setting_overrides.changed_at is 'When it was brought.';

create table muniment.setting_changes (
  rev bigint not null,
  key text not null,
  former jsonb not null,
  value jsonb not null,
  is_reset boolean not null,
  changed_by text not null,
  changed_at timestamptz not null,
  constraint setting_changes_pk primary key (rev, key)
);
comment on table muniment.setting_changes is 'A row is a change of a setting. Changes of one revision were made at once.';
comment on column muniment.setting_changes.rev is 'The revision of the settings, counted from 1.';
comment on column muniment.setting_changes.key is 'The setting, as in recall.top_k.';
comment on column muniment.setting_changes.changed_by is 'Who made the change.';
comment on column muniment.setting_changes.changed_at is 'When it was made.';
comment on column muniment.setting_changes.former is 'The value that was in force before, where it was changed.';
comment on column muniment.setting_changes.value is 'The value that is in force from then on.';
comment on column muniment.setting_changes.is_reset is 'Whether the setting has the value of the file again.';

alter table muniment.setting_overrides enable row level security;
alter table muniment.setting_overrides force row level security;
alter table muniment.setting_changes enable row level security;
alter table muniment.setting_changes force row level security;
create policy setting_overrides_app on muniment.setting_overrides for select to muniment_app using (true);
comment on policy setting_overrides_app on muniment.setting_overrides is 'The application reads the settings: they are of no space.';
create policy setting_changes_app on muniment.setting_changes for select to muniment_app using (true);
comment on policy setting_changes_app on muniment.setting_changes is 'The application reads the history of the settings.';
create policy setting_overrides_keeper on muniment.setting_overrides to muniment_keeper
  using ((select muniment.my_spaces()) is null) with check ((select muniment.my_spaces()) is null);
comment on policy setting_overrides_keeper on muniment.setting_overrides is
  'The keeper changes settings in transactions that enter no space.';
create policy setting_changes_keeper on muniment.setting_changes to muniment_keeper
  using ((select muniment.my_spaces()) is null) with check ((select muniment.my_spaces()) is null);
comment on policy setting_changes_keeper on muniment.setting_changes is
  'The keeper adds to the history in transactions that enter no space; its grants change nothing in it.';
grant select on muniment.setting_overrides, muniment.setting_changes to muniment_app, muniment_keeper;
grant insert, update, delete on muniment.setting_overrides to muniment_keeper;
grant insert on muniment.setting_changes to muniment_keeper;
