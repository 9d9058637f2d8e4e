-- The tables of a former design by their names, read-only, over what there is: who has queries on them goes on with them. Each row is
-- seen by who may see the row below it.
create view muniment.memory_sessions with (security_invoker = true) as
select space_id, session_id, app_id, project_id, agent_id, case when ended_at is null then 'open' else 'ended' end as status,
  started_at, last_at as last_event_at, ended_at, ended_why as end_reason, turns as event_count, built_to as built_event_index,
  metadata, input_tokens, output_tokens
from muniment.sessions;
comment on view muniment.memory_sessions is 'Sessions, by the names of a former design.';

create view muniment.memory_session_events with (security_invoker = true) as
select space_id, turn_id as event_id, session_id, position as event_index, kind as event_type, role, actor as actor_id,
  text as content, payload, visible, path, tags, at as created_at
from muniment.turns;
comment on view muniment.memory_session_events is 'The events of sessions, by the names of a former design.';

create view muniment.memory_observations with (security_invoker = true) as
select space_id, observation_id, session_id, kind as observation_type, stable_key, statement as canonical_statement, fact, category,
  confidence, importance, trust, turns as event_ids, muniment.list_positions(space_id, turns) as event_indexes, found_by as extractor,
  memory_id as entry_id, outcome, rev, at as created_at
from muniment.observations;
comment on view muniment.memory_observations is 'Observations, by the names of a former design.';

create view muniment.memory_entries with (security_invoker = true) as
select m.space_id, m.memory_id as entry_id, m.kind as entry_type, m.category, m.fact ->> 'kind' as fact_kind, m.stable_key,
  m.text as canonical_statement, m.fact ->> 'predicate' as predicate, m.fact ->> 'object' as object, m.event_time,
  m.fact -> 'persons' as persons, m.fact -> 'entities' as entities, m.fact ->> 'location' as location, m.fact ->> 'topic' as topic,
  m.importance, m.confidence, m.trust, m.pinned, m.state as status, m.tags, m.agent_id, m.project_id, m.app_id, m.reach, m.source,
  s.session_id as source_session_id, m.superseded_by, m.rev, m.created_at, m.updated_at, m.expires_at
from muniment.memories m left join muniment.sessions s on s.space_id = m.space_id and s.session_id = m.session_id;
comment on view muniment.memory_entries is
  'Memories, by the names of a former design. The session is null once its ledger was cleaned.';

create view muniment.memory_materializations with (security_invoker = true) as
select space_id, projection_id as materialization_id, type as materialization_type, key as stable_key, status, title, data as payload,
  category, trust, memory_id as entry_id, memories as entry_ids, superseded_by, rev, at as updated_at
from muniment.projections;
comment on view muniment.memory_materializations is 'Projections, by the names of a former design.';

create view muniment.memory_projection_conflicts with (security_invoker = true) as
select space_id, projection_id as materialization_id, type as materialization_type, key as stable_key, title, data as payload, category,
  trust, memory_id as entry_id, rev, at as updated_at
from muniment.projections where status = 'conflict';
comment on view muniment.memory_projection_conflicts is
  'What sources of equal trust say of a slot beside its active row, by the names of a former design.';

create view muniment.memory_links with (security_invoker = true) as
select space_id, 'observation' as from_type, observation_id as from_id, 'entry' as to_type, memory_id as to_id, 'became' as link_type,
  at as created_at
from muniment.observations where memory_id is not null
union all
select space_id, 'entry', memory_id, 'materialization', projection_id, 'projects', at from muniment.projections
union all
select space_id, 'entry', from_id, 'entry', to_id, relation_type, created_at from muniment.relations;
comment on view muniment.memory_links is 'From observations to memories, to projections, and between memories, by the names of a former design.';

create view muniment.memory_consolidation_runs with (security_invoker = true) as
select space_id, run_id, status, started_at, ended_at, from_rev, to_rev, model, prompt, seen as pairs_seen, checked as pairs_checked,
  same as merged, superseded, distinct_pairs, outdated, unanswered, requests, input_tokens, output_tokens
from muniment.consolidation_runs;
comment on view muniment.memory_consolidation_runs is 'Runs of consolidation, by the names of a former design.';

grant select on muniment.memory_sessions, muniment.memory_session_events, muniment.memory_observations, muniment.memory_entries,
  muniment.memory_materializations, muniment.memory_projection_conflicts, muniment.memory_links, muniment.memory_consolidation_runs
  to muniment_app;
