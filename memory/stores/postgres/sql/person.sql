-- name: table (opens the rows of a table of a space, as JSON)
declare person_rows no scroll cursor for
select to_jsonb(t) - '{space_id,words,embedding,embedding_model,next_embedding,next_model,recalled,vectors}'::text[] as row
from muniment.{table} t where t.space_id = %(space)s order by {order}

-- name: count (the number of rows of a table of a space)
select count(*) as rows from muniment.{table} t where t.space_id = %(space)s

-- name: readers (who can read the space by a token, and what its owner reads beside it)
select muniment.describe_readers() as row

-- name: export (opens the rows of an export)
declare person_rows no scroll cursor for
{{transfer.dump}}

-- name: content (opens the rows of an export's content)
declare person_rows no scroll cursor for
{{transfer.content}}

-- name: memories (opens the memories in some states, with what they said before and the turns that they come from)
declare person_rows no scroll cursor for
select to_jsonb(m) - '{ {store_columns} }'::text[] || jsonb_build_object(
  'former', coalesce((
    select jsonb_agg(to_jsonb(v) - '{ {store_columns} }'::text[] - 'memory_id' order by v.from_rev)
    from muniment.memory_versions v where v.space_id = %(space)s and v.memory_id = m.memory_id), '[]'),
  'changes', coalesce((
    select jsonb_agg(jsonb_build_object('rev', j.rev, 'at', j.ts, 'action', j.action, 'by', j.actor) order by j.rev)
    from muniment.journal j where j.space_id = %(space)s and j.memory_id = m.memory_id), '[]'),
  'said', coalesce((
    select jsonb_agg(jsonb_build_object('at', t.at, 'role', t.role, 'actor', t.actor, 'thread', t.thread_id,
      'session', t.session_id, 'text', t.text) order by t.at, t.turn_id)
    from muniment.turns t where t.space_id = %(space)s and t.turn_id = any(m.turns)), '[]')) as row
from muniment.memories m where m.space_id = %(space)s and m.state = any(%(states)s::text[])
order by m.category, m.created_at, m.memory_id

-- name: texts (opens what memories say and have said)
declare person_rows no scroll cursor for
select jsonb_build_object('memory_id', m.memory_id, 'text', m.text) as row
from muniment.memories m where m.space_id = %(space)s
union all
select jsonb_build_object('memory_id', v.memory_id, 'text', v.text)
from muniment.memory_versions v where v.space_id = %(space)s

-- name: recalls (opens the turns at which memory was put before a model, oldest first)
declare person_rows no scroll cursor for
select jsonb_build_object('at', t.at, 'thread', t.thread_id, 'session', t.session_id, 'actor', t.actor,
  'recalled', t.recalled) as row
from muniment.turns t where t.space_id = %(space)s and t.recalled <> '{}' order by t.at, t.turn_id

-- name: shown_items (opens the memories that the plugin has put before a model, oldest first)
declare person_rows no scroll cursor for
select jsonb_build_object('memory_id', h.memory_id, 'at', p.at, 'session', p.session_id) as row
from muniment.plugin_turns p cross join lateral unnest(p.item_ids) item
join muniment.host_items h on h.space_id = %(space)s and h.item_id::text = item
where p.space_id = %(space)s order by p.at, h.memory_id

-- name: fetch (the next rows)
fetch forward {most} from person_rows

-- name: close (ends reading)
close person_rows
