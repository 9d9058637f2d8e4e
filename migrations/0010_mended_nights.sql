-- When a run's questions were handed over to a batch endpoint: its patience, and the day whose budget pays, are counted from then.
-- A run that waits can be called off.
alter table muniment.consolidation_runs add column handed_at timestamptz,
  drop constraint consolidation_runs_status,
  add constraint consolidation_runs_status check (status in
    ('running', 'waiting', 'done', 'over_budget', 'failed', 'interrupted', 'cancelled', 'undone'));
