-- What one memory of a pair is to the other is kept with the decision on the pair, and counted in its run.
alter table muniment.consolidation_runs add column classes jsonb not null default '{}';
comment on column muniment.consolidation_runs.classes is
  'Decided pairs by class: duplicate, refinement, changed_value, contradiction, other_time, other_owner, unrelated.';

alter table muniment.pair_fingerprints add column class text;
comment on column muniment.pair_fingerprints.class is
  'What one memory of the pair is to the other; null: decided before there were classes, by a person, or unanswered.';
