-- What a turn was and what was made of it, requests for consent, and what models cost.

-- Ends a write in the middle: what a client has sent after it is not done. Every statement of a plan can go at once.
create function muniment.refuse(state text, reason text) returns bigint language plpgsql as $$
begin
  raise exception using errcode = state, message = reason;
end $$;

alter table muniment.turns
  add column source text not null default 'user',
  add column path text,
  add column tags text[] not null default '{}',
  add column recalled bigint[] not null default '{}',
  add constraint turns_source check (source in ('user', 'tool', 'document', 'agent'));

create table muniment.extractions (
  space_id uuid not null,
  turn_id uuid not null,
  source text not null,
  found int not null,
  written int not null,
  repaired text[] not null,
  refused text[] not null,
  prompt text,
  model text,
  rev bigint not null,
  at timestamptz not null,
  constraint extractions_pk primary key (space_id, turn_id, source),
  constraint extractions_space_fk foreign key (space_id) references muniment.spaces (space_id),
  constraint extractions_source check (source in ('rules', 'model'))
);

create table muniment.consent_requests (
  space_id uuid not null,
  request_id uuid not null,
  field text not null,
  value text not null,
  decision text not null,
  memory_id uuid not null,
  turns uuid[] not null,
  old text,
  asked_at timestamptz not null,
  expires_at timestamptz not null,
  decided_at timestamptz,
  decided_by text,
  constraint consent_requests_pk primary key (space_id, request_id),
  constraint consent_requests_space_fk foreign key (space_id) references muniment.spaces (space_id),
  constraint consent_requests_decision check (decision in ('pending', 'approved', 'rejected', 'expired', 'replaced'))
);
create unique index consent_requests_waiting on muniment.consent_requests (space_id, field, lower(value))
  where decision = 'pending';

-- A tenant's own books: `space_id` is the tenant's, computed from its name alone.
create table muniment.spend_days (
  space_id uuid not null,
  day date not null,
  tokens bigint not null,
  micros bigint not null,
  constraint spend_days_pk primary key (space_id, day)
);
create table muniment.spend (
  space_id uuid not null,
  day date not null,
  purpose text not null,
  model text not null,
  requests bigint not null,
  input_tokens bigint not null,
  output_tokens bigint not null,
  micros bigint not null,
  constraint spend_pk primary key (space_id, day, purpose, model)
);

do $$
declare t text;
begin
  foreach t in array array['extractions', 'consent_requests', 'spend_days', 'spend'] loop
    execute format('alter table muniment.%I enable row level security', t);
    execute format('alter table muniment.%I force row level security', t);
    execute format('create policy %I on muniment.%I to muniment_app
      using (space_id = any((select muniment.my_spaces())::uuid[]) and (select muniment.all_categories()))
      with check (space_id = any((select muniment.my_spaces())::uuid[]) and (select muniment.all_categories()))',
      t || '_own', t);
  end loop;
end $$;
-- The structured profile is shown to whoever may read the category.
create policy consent_requests_read on muniment.consent_requests for select to muniment_app
  using (space_id = any((select muniment.my_spaces())::uuid[])
         and 'profile' = any((select muniment.my_categories())::text[]));

-- What a remembered fact costs is counted over all spaces of a tenant; the keeper sees the numbers and no word.
create policy extractions_keeper on muniment.extractions for select to muniment_keeper using (true);

grant select, insert on muniment.extractions to muniment_app;
grant select (space_id, source, written, at) on muniment.extractions to muniment_keeper;
grant select, insert, update on muniment.consent_requests, muniment.spend_days, muniment.spend to muniment_app;

-- Every operation: what is tracked, and the mutations, which the journal has.
create view muniment.operations with (security_invoker = true) as
select space_id, thread_id, node, op, status, memory_id, category, sim, ts from muniment.events
union all
select space_id, thread_id, node,
       case action when 'ADD' then 'create' when 'RESTORE' then 'update' else lower(action) end,
       'ok', memory_id, null, sim, ts
from muniment.journal;
grant select on muniment.operations to muniment_app;
