-- name: dump (the rows of a space as JSON, in a fixed order)
select jsonb_build_object('type', 'space', 'format', 'muniment/1', 'rev', rev, 'created_at', created_at) as row,
  0 as part, 0::bigint as n, '' as id
from muniment.spaces where space_id = %(space)s
union all
select to_jsonb(m) - '{ {store_columns} }'::text[] || '{"type": "memory"}', 1, m.rev, m.memory_id::text
from muniment.memories m where space_id = %(space)s
union all
select to_jsonb(v) - '{ {store_columns} }'::text[] || '{"type": "version"}', 2, v.from_rev, v.memory_id::text
from muniment.memory_versions v where space_id = %(space)s
union all
select to_jsonb(j) - 'space_id' || '{"type": "journal"}', 3, j.rev, '' from muniment.journal j
  where space_id = %(space)s
union all
select to_jsonb(r) - 'space_id' || '{"type": "relation"}', 4, 0, r.from_id::text || r.to_id::text
from muniment.relations r where space_id = %(space)s
union all
select to_jsonb(t) - 'space_id' || '{"type": "thread"}', 5, 0, t.thread_id
from muniment.thread_revision t where space_id = %(space)s
union all
select to_jsonb(t) - '{space_id,words}'::text[] || '{"type": "turn"}', 6, extract(epoch from t.at)::bigint, t.turn_id::text
from muniment.turns t where space_id = %(space)s
union all
select to_jsonb(s) - 'space_id' || '{"type": "session"}', 7, extract(epoch from s.started_at)::bigint, s.session_id
from muniment.sessions s where space_id = %(space)s
union all
select to_jsonb(c) - 'space_id' || '{"type": "consent"}', 8, extract(epoch from c.asked_at)::bigint, c.request_id::text
from muniment.consent_requests c where space_id = %(space)s
union all
select to_jsonb(o) - 'space_id' || '{"type": "observation"}', 9, o.rev, o.observation_id::text
from muniment.observations o where space_id = %(space)s
order by part, n, id

-- name: content (the memories and edges of a space as JSON, without revisions and access counts)
select to_jsonb(m) || '{"type": "memory"}' as row, 0 as part, m.memory_id::text as id
from (select {m.content_columns} from muniment.memories m where m.space_id = %(space)s) m
union all
select to_jsonb(r) - 'space_id' || '{"type": "relation"}', 1, r.from_id::text || r.to_id::text
from muniment.relations r where space_id = %(space)s
order by part, id

-- name: load_space (sets the revision of an empty space; no row when it is not empty. No line up to it is sealed alone)
update muniment.spaces set rev = %(rev)s, sealed_from = %(rev)s, created_at = coalesce(%(created_at)s::timestamptz, created_at)
where space_id = %(space)s and rev = 0
returning rev

-- name: seal_space (seals the journal of a space that is restored)
select muniment.seal_space(%(space)s)

-- name: insert_packed (inserts packed rows of a table)
insert into muniment.{table} select * from unnest(%(rows)b::muniment.{table}[])
returning space_id

-- name: insert_over_packed (inserts rows from JSON over packed rows that have the columns of a search)
insert into muniment.{table}
select whole.*
from (select unnest(%(bare)b::muniment.{table}[]) as bare, jsonb_array_elements(%(rows)s::jsonb) as fields) part,
  lateral jsonb_populate_record(part.bare, part.fields) whole
returning space_id

-- name: insert_json (inserts rows from JSON over values that all of them have)
insert into muniment.{table} select * from jsonb_populate_recordset(
  jsonb_populate_record(null::muniment.{table}, %(base)s::jsonb), %(rows)s::jsonb)
returning space_id

-- name: flaws (why the rows are no space that a writer could have left)
with own as (select rev from muniment.spaces where space_id = %(space)s)
select flaw from (
  select case
    when m.rev not between 1 and own.rev then 'a memory is of a revision that the space has not reached'
    when m.confidence not between 0 and 1 or array_position(m.tags, null) is not null or array_ndims(m.tags) > 1
      or array_position(m.turns, null) is not null or array_ndims(m.turns) > 1
      or array_position(m.aliases, null) is not null or array_ndims(m.aliases) > 1
        then 'a number is none, or a list has gaps'
    when least({m.time_columns}) < '0002-01-01' or greatest({m.time_columns}) > '9998-12-31'
      then 'a time is not in the years 2 to 9998'
  end as flaw
  from muniment.memories m, own where m.space_id = %(space)s
  union all
  select case
    when v.from_rev < 1 or v.to_rev > own.rev then 'a version is of revisions that the space has not reached'
    when v.event_time not between '0002-01-01' and '9998-12-31' or v.expires_at not between '0002-01-01' and '9998-12-31'
      then 'a time is not in the years 2 to 9998'
  end
  from muniment.memory_versions v, own where v.space_id = %(space)s
  union all
  select case
    when j.rev not between 1 and own.rev then 'the journal has a revision that the space has not reached'
    when j.sim = 'NaN' or jsonb_typeof(j.meta) <> 'object'
      then 'a line of the journal has a number that is none, or no object as meta'
    when j.ts not between '0002-01-01' and '9998-12-31' then 'a time is not in the years 2 to 9998'
  end
  from muniment.journal j, own where j.space_id = %(space)s
  union all
  select case
    when t.consumed_rev not between 1 and own.rev
      then 'a thread or a turn is of a revision that the space has not reached'
    when t.at not between '0002-01-01' and '9998-12-31' then 'a time is not in the years 2 to 9998'
  end
  from muniment.turns t, own where t.space_id = %(space)s
  union all
  select case
    when t.position is not null and coalesce(t.position not between 0 and s.turns - 1, true)
      then 'a turn has no place in its session'
  end
  from muniment.turns t left join muniment.sessions s on s.space_id = %(space)s and s.session_id = t.session_id
  where t.space_id = %(space)s
  union all
  select case
    when s.turns < 0 or s.built_to not between 0 and s.turns then 'a session has a number that is none'
    when least(s.started_at, s.last_at, s.ended_at) < '0002-01-01'
      or greatest(s.started_at, s.last_at, s.ended_at) > '9998-12-31' then 'a time is not in the years 2 to 9998'
  end
  from muniment.sessions s where s.space_id = %(space)s
  union all
  select case
    when o.rev not between 1 and own.rev then 'an observation is of a revision that the space has not reached'
    when o.confidence not between 0 and 1 or array_position(o.turns, null) is not null or array_ndims(o.turns) > 1
      then 'a number is none, or a list has gaps'
    when o.at not between '0002-01-01' and '9998-12-31' then 'a time is not in the years 2 to 9998'
  end
  from muniment.observations o, own where o.space_id = %(space)s
  union all
  select case when t.rev not between 0 and own.rev
    then 'a thread or a turn is of a revision that the space has not reached' end
  from muniment.thread_revision t, own where t.space_id = %(space)s
  union all
  select case when asked_at not between '0002-01-01' and '9998-12-31'
    or expires_at not between '0002-01-01' and '9998-12-31'
    or decided_at not between '0002-01-01' and '9998-12-31' then 'a time is not in the years 2 to 9998' end
  from muniment.consent_requests where space_id = %(space)s
) one where flaw is not null
union all
select 'the journal or a version is of a memory that is not in it'
from (select memory_id from muniment.journal where space_id = %(space)s and memory_id not in (
        select memory_id from muniment.journal where space_id = %(space)s and action = 'DELETE' and meta ? 'hard')
      union select memory_id from muniment.memory_versions where space_id = %(space)s
      except select memory_id from muniment.memories where space_id = %(space)s) lost
limit 1

-- name: given_up_texts (those of the texts that versions of memories have had, without forgotten memories)
select distinct v.text from muniment.memory_versions v
join muniment.memories m on m.space_id = %(space)s and m.memory_id = v.memory_id and m.state in ('active', 'superseded')
where v.space_id = %(space)s and v.to_rev <= %(before)s and v.text = any(%(texts)s)
