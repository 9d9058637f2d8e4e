-- When a run's questions were handed over to a batch endpoint: its patience, and the day whose budget pays, are counted from then.
-- A run that waits can be called off.
alter table muniment.consolidation_runs add column handed_at timestamptz,
  drop constraint consolidation_runs_status,
  add constraint consolidation_runs_status check (status in
    ('running', 'waiting', 'done', 'over_budget', 'failed', 'interrupted', 'cancelled', 'undone'));

-- A pair that a model was asked about in vain is noted, too, and how often: asked so often it counts as looked at, and its run
-- says so. What a person has taken back is a source of its own: such a pair is left alone however near the two come.
alter table muniment.pair_fingerprints add column tries smallint not null default 0,
  drop constraint pair_fingerprints_judgement,
  add constraint pair_fingerprints_judgement check (judgement in ('same', 'supersedes', 'different', 'unanswered')),
  drop constraint pair_fingerprints_source,
  add constraint pair_fingerprints_source check (source in ('rules', 'model', 'person'));
alter table muniment.consolidation_runs add column shelved int not null default 0;

-- A retrieval changes only what is counted of a memory. With room on its page that touches no index, nor a large space's HNSW,
-- where it would otherwise be a new entry; as with the spaces, whose revision changes at every write.
alter table muniment.memories set (fillfactor = 80);
