-- Each space has its embedder. Null: the one that its tenant has chosen, else the database's, which changes only when no space
-- without its own has vectors of another; so a space founded by a process of the former version has one, too.
alter table muniment.spaces add column model text;
comment on column muniment.spaces.model is
  'The embedding model of the space''s vectors. Null: that of its tenant in tenant_embedders, else the one in use in embedders.';

create table muniment.tenant_embedders (
  tenant_id text not null,
  model text not null,
  constraint tenant_embedders_pk primary key (tenant_id)
);
comment on table muniment.tenant_embedders is
  'A row is the embedder that a tenant has chosen for its spaces. Written at the end of `muniment embedder switch --tenant`.';
comment on column muniment.tenant_embedders.tenant_id is 'The tenant, by its name.';
comment on column muniment.tenant_embedders.model is 'The embedding model of the tenant''s spaces that name none.';

create function muniment.my_tenant() returns text language plpgsql stable as $$
declare entered uuid := (muniment.my_spaces())[1];
begin
  return (select s.tenant_id from muniment.spaces s where s.space_id = entered);
end $$;
comment on function muniment.my_tenant() is 'The tenant of the space that the transaction has entered; null before somebody writes into it.';

alter table muniment.tenant_embedders enable row level security;
alter table muniment.tenant_embedders force row level security;
create policy tenant_embedders_own on muniment.tenant_embedders for select to muniment_app
  using (tenant_id = (select muniment.my_tenant()));
create policy tenant_embedders_keeper on muniment.tenant_embedders to muniment_keeper using (true) with check (true);
comment on policy tenant_embedders_own on muniment.tenant_embedders is
  'The application reads the choice of the tenant whose space it has entered.';
comment on policy tenant_embedders_keeper on muniment.tenant_embedders is
  'The keeper reads and writes the choices of all tenants at the end of a switch.';
grant select on muniment.tenant_embedders to muniment_app;
grant select, insert, update, delete on muniment.tenant_embedders to muniment_keeper;
grant select on muniment.embedders to muniment_keeper;

create function muniment.find_model(own text, tenant text) returns text language sql stable as $$
  select coalesce(own, (select t.model from muniment.tenant_embedders t where t.tenant_id = tenant),
    (select e.model from muniment.embedders e where e.active))
$$;
comment on function muniment.find_model(text, text) is
  'The embedding model of a space with this column `model` and this tenant.';

-- As before, for the space that is entered; one that nobody has written into has no vectors. A writer has incremented the space
-- before it is asked, and the model changes while no writer is at work, so the answer stays true until its end.
create or replace function muniment.expect_embedder(wanted text) returns boolean language plpgsql stable as $$
declare
  entered uuid := (muniment.my_spaces())[1];
  used text;
  tenant text;
begin
  if wanted is distinct from '' then
    select s.model, s.tenant_id into used, tenant from muniment.spaces s where s.space_id = entered;
    if found then
      used := coalesce(used, muniment.find_model(null, tenant), 'none');
      if used is distinct from wanted then
        raise exception using errcode = 'MU002', message = used, detail = wanted;
      end if;
    end if;
  end if;
  return true;
end $$;
comment on function muniment.expect_embedder(text) is
  'Refuses vectors of another embedder than that of the space which the transaction has entered.';
