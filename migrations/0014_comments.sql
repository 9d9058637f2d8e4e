-- What each schema, table, column, view, function and policy is for, where a client such as psql shows it.
comment on schema muniment is
  'What Muniment remembers. The application works as role muniment_app within one space at a time; muniment_keeper '
  'reads over all spaces, and no text; muniment_eraser removes for good, within one space.';
comment on schema jobs is
  'The queue of background jobs. No row-level security: its rows name tenants, owners and turns, and hold no text. '
  'Not distributed on Citus.';

-- Spaces and embedders.
comment on table muniment.spaces is
  'A row is the memory of one owner: a user, an agent or a project of a tenant. Made by the first write of the owner; '
  'removed when the owner is erased.';
comment on column muniment.spaces.space_id is
  'UUIDv5 of tenant, type and name of the owner; computed, never looked up. Leads every key of the schema.';
comment on column muniment.spaces.tenant_id is 'The tenant that the owner belongs to, by its name.';
comment on column muniment.spaces.owner_id is 'The name of the user, agent or project.';
comment on column muniment.spaces.owner_type is 'user, agent or project.';
comment on column muniment.spaces.rev is
  'The revision of the latest change. Every change of a memory takes the next number; a plan made at another revision '
  'is refused.';
comment on column muniment.spaces.indexed_model is
  'The embedding model of the space''s own HNSW index and postings; null where it has none.';
comment on column muniment.spaces.indexed_rev is
  'Up to which revision the space''s own indexes are complete; later changes are read without them.';
comment on column muniment.spaces.tended_rev is
  'Up to which revision changes were seen by tending (forgetting, purging, consolidation).';
comment on column muniment.spaces.tended_at is 'When the space was tended last; null: never.';
comment on column muniment.spaces.tend_at is
  'The earliest time at which something in the space is due without any change; null: nothing ever will be.';
comment on column muniment.spaces.tend_terms is
  'A hash of the retention settings that tend_at was computed with; under others the space is due at once.';

comment on table muniment.embedders is
  'A row is an embedding model that vectors come from. Lookup data of a few rows for the whole database, without '
  'row-level security; a reference table on Citus.';
comment on column muniment.embedders.model is 'The name of the model, as memories.embedding_model has it.';
comment on column muniment.embedders.active is 'Whether searches use the vectors of this model; true in one row.';
comment on column muniment.embedders.run is 'The switch to this model that is under way; null where none is.';

comment on table muniment.swept is
  'A row says how far a switch of the embedder has got in a space. Written by the command that switches.';
comment on column muniment.swept.run is 'The switch, as embedders.run names it; a row of another run does not count.';
comment on column muniment.swept.rev is
  'Up to which revision every memory and version of the space has a vector of the next model.';

-- Memories.
comment on table muniment.memories is
  'A row is the present state of one memory: a statement, with where it comes from. Written by commit_plan alone, but '
  'for counts of retrievals, vectors of a next model, and erasures.';
comment on column muniment.memories.memory_id is 'The memory; a correction keeps it.';
comment on column muniment.memories.kind is
  'semantic (a fact), episodic (an event), procedural (how something is done) or insight (a conclusion from others).';
comment on column muniment.memories.category is
  'The category of the settings that the memory is filed under; a reader''s allowlist goes by it.';
comment on column muniment.memories.text is 'The statement, redacted.';
comment on column muniment.memories.fact is
  'The structured side of a semantic memory: kind, subject, predicate, object and names; else null.';
comment on column muniment.memories.stable_key is
  'What the fact is about, and its value unless it has only one at a time; equal keys are the same fact.';
comment on column muniment.memories.importance is 'From 1 to 5; 5 is never forgotten for its age.';
comment on column muniment.memories.confidence is 'From 0 to 1.';
comment on column muniment.memories.trust is 'Who vouches for it: user, tool, document or agent.';
comment on column muniment.memories.pinned is 'Whether it is kept whatever its age and use.';
comment on column muniment.memories.state is
  'active; pending (waits for consent); superseded (has given way to superseded_by); soft_deleted (forgotten, until '
  'purge_at); rejected (consent was refused).';
comment on column muniment.memories.tags is 'Free labels.';
comment on column muniment.memories.agent_id is 'The agent that it is filed under; null: none.';
comment on column muniment.memories.run_id is 'The run in which it was first said.';
comment on column muniment.memories.actor_id is 'Who said it, where several speak.';
comment on column muniment.memories.role is 'The role of the one who said it: user, assistant, tool or system.';
comment on column muniment.memories.session_id is 'The session in which it was first said; its turns may be gone.';
comment on column muniment.memories.thread_id is 'The thread in which it was first said.';
comment on column muniment.memories.event_time is
  'When what it tells of happened or will happen; null: unknown, or no event.';
comment on column muniment.memories.created_at is 'When it was first kept.';
comment on column muniment.memories.updated_at is 'When it was changed last; a retrieval is no change.';
comment on column muniment.memories.last_accessed_at is 'When it was retrieved last; null: never.';
comment on column muniment.memories.access_count is 'How many retrievals were counted.';
comment on column muniment.memories.purge_at is
  'When a forgotten memory is removed for good; null: it is not forgotten.';
comment on column muniment.memories.rev is 'The revision of the space at which this state was written.';
comment on column muniment.memories.superseded_by is 'The memory that this one has given way to.';
comment on column muniment.memories.context is 'The words around the statement; helps to find it and is never shown.';
comment on column muniment.memories.turns is 'The turns that support it; rows of turns may be gone.';
comment on column muniment.memories.embedding is 'The vector of the text by embedding_model, in half precision.';
comment on column muniment.memories.embedding_model is 'The model of embedding.';
comment on column muniment.memories.words is
  'The keywords as a sparse vector: a dimension is a hash of a stem, its value the weight; see ADR 0011.';
comment on column muniment.memories.next_embedding is
  'The vector by next_model while the embedder is switched; else null.';
comment on column muniment.memories.next_model is 'The model of next_embedding.';

comment on table muniment.memory_versions is
  'A row is a former state of a memory. Written by apply_changes, in the statement that replaces the state.';
do $$
declare said record;
begin
  -- A version has the columns of its memory, with the same meaning.
  for said in
    select v.attname, col_description('muniment.memories'::regclass, m.attnum) as text
    from pg_attribute v join pg_attribute m on m.attrelid = 'muniment.memories'::regclass and m.attname = v.attname
    where v.attrelid = 'muniment.memory_versions'::regclass and v.attnum > 0 and m.attnum > 0 and not v.attisdropped
  loop
    execute format('comment on column muniment.memory_versions.%I is %L', said.attname, said.text);
  end loop;
end $$;
comment on column muniment.memory_versions.from_rev is 'The revision at which this state was written.';
comment on column muniment.memory_versions.to_rev is
  'The revision at which it was replaced; it held from from_rev up to and without this one.';

comment on table muniment.relations is
  'A row is an undirected edge between two memories of a space, with the lower id first. Written by commit_plan.';
comment on column muniment.relations.from_id is 'The lower of the two ids.';
comment on column muniment.relations.to_id is 'The higher of the two ids.';
comment on column muniment.relations.relation_type is 'What the edge means; related_to unless something else is known.';
comment on column muniment.relations.strength is 'From 0 to 1.';

comment on table muniment.postings is
  'A row lists the memories of a large space that have one word, by category. Written by the indexing of a large '
  'space, removed with its index.';
comment on column muniment.postings.dimension is
  'A dimension of memories.words; 0: all memories of the category, counted only; negative: those of one speaker, see '
  'speaker_dimension.';
comment on column muniment.postings.category is 'The category of the memories in the list.';
comment on column muniment.postings.df is 'In how many memories the word is.';
comment on column muniment.postings.memories is 'The memories, the heaviest first.';
comment on column muniment.postings.weights is 'The weight of the word in each of memories, in the same order.';

-- The journal, and what was said and done.
comment on table muniment.journal is
  'A row is one change of one memory. Only ever added to, by apply_changes; an erasure takes out what names what is '
  'erased.';
comment on column muniment.journal.rev is 'The revision that the change made.';
comment on column muniment.journal.memory_id is 'The memory that was changed.';
comment on column muniment.journal.action is 'ADD, UPDATE, DELETE (on request), MERGE, LINK, TTL (by age) or RESTORE.';
comment on column muniment.journal.old_ref is 'The state before, as memory_id@revision; null for a new memory.';
comment on column muniment.journal.new_ref is 'The state after, as memory_id@revision.';
comment on column muniment.journal.thread_id is 'The thread in which the change was made; null: none.';
comment on column muniment.journal.node is
  'The part of the program that made it: hotpath, context, episodic, worker or face.';
comment on column muniment.journal.actor is 'Who asked for it, where that is known.';
comment on column muniment.journal.band is
  'How a candidate met a memory: auto, check, fallback or new; null where nothing was compared.';
comment on column muniment.journal.sim is 'The cosine similarity to the memory it met, from -1 to 1.';
comment on column muniment.journal.meta is 'Details of the change. The key hard marks a removal for good.';
comment on column muniment.journal.ts is 'When the change was made, by the clock of the process.';
comment on view muniment.history is 'The journal by memory: every change with the states before and after.';
comment on view muniment.change_log is
  'The journal without edges, each change as an event: created, updated, merged, deleted, soft_deleted or restored.';
comment on view muniment.operations is
  'Every operation: the searches, skips and failures of events, and the changes of the journal.';

comment on table muniment.events is
  'A row is one tracked operation that changed nothing: a search, a skip or a failure. Written after the reply; '
  'removed after session_ledger.events_days.';
comment on column muniment.events.event_id is 'The operation.';
comment on column muniment.events.user_id is 'The owner of the space, by name.';
comment on column muniment.events.thread_id is 'The thread in which it happened; null: none.';
comment on column muniment.events.node is 'The part of the program: hotpath, context, episodic, worker or face.';
comment on column muniment.events.op is 'What was done, such as classify or search.';
comment on column muniment.events.status is 'ok, error or skipped.';
comment on column muniment.events.memory_id is 'The memory that it was about; null: none.';
comment on column muniment.events.category is 'The category that it was about; null: none.';
comment on column muniment.events.sim is 'The similarity that decided, from -1 to 1; null: none did.';
comment on column muniment.events.ts is 'When it happened, by the clock of the process.';

comment on table muniment.thread_revision is
  'A row says how much of its space a thread has been shown. Written at the end of a turn.';
comment on column muniment.thread_revision.thread_id is 'The thread, as the scope names it.';
comment on column muniment.thread_revision.rev is 'The revision up to which changes were shown.';

comment on table muniment.turns is
  'A row is what was said or done once, redacted and otherwise word for word. Written when it is recorded; removed '
  'after session_ledger.retention_days.';
comment on column muniment.turns.turn_id is 'UUID of session and key, so that a turn that is recorded twice is one.';
comment on column muniment.turns.session_id is 'The session in which it was said.';
comment on column muniment.turns.thread_id is 'The thread in which it was said.';
comment on column muniment.turns.role is 'The role of the one who said it: user, assistant, tool or system.';
comment on column muniment.turns.actor is 'Who said it, where several speak.';
comment on column muniment.turns.text is 'The words, redacted.';
comment on column muniment.turns.at is 'When it was said, by whoever recorded it.';
comment on column muniment.turns.consumed_rev is
  'The revision of the plan that consumed it; null: none has, and a second plan that would is refused.';
comment on column muniment.turns.source is 'Who vouches for it: user, tool, document or agent.';
comment on column muniment.turns.path is 'The file or page that it was read from; null: it was said.';
comment on column muniment.turns.tags is 'Labels that its memories get.';
comment on column muniment.turns.recalled is
  'Fingerprints of what memory had put before the model when it was said: what only repeats these is no evidence.';

comment on table muniment.extractions is
  'A row is one look at a turn, by the rules or by a model. Written with the memories that came of it; a second look '
  'by the same source changes nothing.';
comment on column muniment.extractions.turn_id is 'The turn that was looked at.';
comment on column muniment.extractions.source is 'rules or model.';
comment on column muniment.extractions.found is 'How many candidates were found.';
comment on column muniment.extractions.written is 'How many changes were made of them.';
comment on column muniment.extractions.repaired is 'What was put right in the candidates, as reasons without a text.';
comment on column muniment.extractions.refused is 'Why candidates were refused, as reasons without a text.';
comment on column muniment.extractions.prompt is 'The version of the prompt; null for the rules.';
comment on column muniment.extractions.model is 'The model that was asked; null for the rules.';
comment on column muniment.extractions.rev is 'The revision of the space afterwards.';
comment on column muniment.extractions.at is 'When it was looked at.';

comment on table muniment.consent_requests is
  'A row asks whether a field of the structured profile may have a value. Written by the plan that proposes it, '
  'decided by a person or by time; an approved one is the field''s value.';
comment on column muniment.consent_requests.request_id is 'The request.';
comment on column muniment.consent_requests.field is 'The field of the profile.';
comment on column muniment.consent_requests.value is 'The value that is proposed.';
comment on column muniment.consent_requests.decision is
  'pending, approved, rejected, expired (nobody answered in time), replaced (by a later value) or withdrawn (its '
  'memory is gone).';
comment on column muniment.consent_requests.memory_id is 'The memory that the value comes from.';
comment on column muniment.consent_requests.turns is 'The turns that say so; each is a signal.';
comment on column muniment.consent_requests.old is 'The value of the field when it was asked; null: it had none.';
comment on column muniment.consent_requests.asked_at is 'When the request was made.';
comment on column muniment.consent_requests.expires_at is 'Until when it can be answered.';
comment on column muniment.consent_requests.decided_at is 'When it was decided; null while pending.';
comment on column muniment.consent_requests.decided_by is 'Who decided it.';

comment on table muniment.erasures is
  'A row is the receipt of one erasure: numbers, and no word of what was erased. Outlives its space. Written by the '
  'erasure.';
comment on column muniment.erasures.erasure_id is 'The erasure.';
comment on column muniment.erasures.what is
  'memory (one), user (the whole space) or purge (what was forgotten long enough ago).';
comment on column muniment.erasures.counts is 'How many rows were removed or changed, by what they were.';
comment on column muniment.erasures.at is 'When it was done.';

-- Models and money.
comment on table muniment.spend is
  'A row is what a tenant has spent on one purpose and model in a day. Written after each request to a model. '
  'space_id is the tenant''s own, computed from its name.';
comment on column muniment.spend.day is 'The day, in UTC.';
comment on column muniment.spend.purpose is 'What the requests were for, such as extract.';
comment on column muniment.spend.model is 'The model that was asked.';
comment on column muniment.spend.requests is 'How many requests were made.';
comment on column muniment.spend.input_tokens is 'Tokens that were sent.';
comment on column muniment.spend.output_tokens is 'Tokens that were received.';
comment on column muniment.spend.micros is 'The price, in millionths of the configured currency.';
comment on table muniment.spend_days is
  'A row is what a tenant has been charged in a day, requests under way included: the budget is compared with it. '
  'Charged before a request and adjusted after it.';
comment on column muniment.spend_days.day is 'The day, in UTC.';
comment on column muniment.spend_days.tokens is 'Tokens, sent and received.';
comment on column muniment.spend_days.micros is 'The price, in millionths of the configured currency.';

comment on table muniment.consolidation_runs is
  'A row is one comparison of the memories of a space, and what it came to. One run of a space is open at a time. '
  'Written by the worker or the command that runs it.';
comment on column muniment.consolidation_runs.run_id is 'The run.';
comment on column muniment.consolidation_runs.status is
  'running, waiting (for a batch endpoint), done, over_budget, failed, interrupted (its lease was over), cancelled or '
  'undone.';
comment on column muniment.consolidation_runs.started_at is 'When it began.';
comment on column muniment.consolidation_runs.ended_at is 'When it ended; null while it is open.';
comment on column muniment.consolidation_runs.leased_until is
  'Until when its process has the space to itself, by the database''s clock; then another may end the run.';
comment on column muniment.consolidation_runs.from_rev is 'The revision of the space when it began.';
comment on column muniment.consolidation_runs.to_rev is 'The revision of the space after its last change.';
comment on column muniment.consolidation_runs.surveyed_rev is
  'Changes up to this revision are compared, and nothing of them is left to check.';
comment on column muniment.consolidation_runs.upto_rev is
  'What surveyed_rev will be when all pairs of the run are checked.';
comment on column muniment.consolidation_runs.model is 'The model that was asked; null: none was.';
comment on column muniment.consolidation_runs.prompt is 'The version of the prompt.';
comment on column muniment.consolidation_runs.seen is 'Pairs in the survey.';
comment on column muniment.consolidation_runs.checked is 'Pairs that were checked.';
comment on column muniment.consolidation_runs.same is 'Pairs that say the same.';
comment on column muniment.consolidation_runs.superseded is 'Pairs of which one replaces the other.';
comment on column muniment.consolidation_runs.distinct_pairs is 'Pairs that say different things.';
comment on column muniment.consolidation_runs.outdated is 'Pairs that changed before the answer came.';
comment on column muniment.consolidation_runs.unanswered is 'Pairs without an answer.';
comment on column muniment.consolidation_runs.shelved is
  'Unanswered pairs that were asked so often that they count as looked at.';
comment on column muniment.consolidation_runs.requests is 'Requests to the model.';
comment on column muniment.consolidation_runs.input_tokens is 'Tokens that were sent.';
comment on column muniment.consolidation_runs.output_tokens is 'Tokens that were received.';
comment on column muniment.consolidation_runs.micros is 'The price, in millionths of the configured currency.';
comment on column muniment.consolidation_runs.duplicates_before is
  'Pairs that the rules alone call the same, before the run.';
comment on column muniment.consolidation_runs.duplicates_after is
  'Pairs that the rules alone call the same, after the run.';
comment on column muniment.consolidation_runs.batch is
  'The batch endpoint''s name of what is waited for, or not yet removed there; null: none.';
comment on column muniment.consolidation_runs.asked is
  'The pairs that are with the batch endpoint: ids, revisions and places, no text; null when nothing is.';
comment on column muniment.consolidation_runs.reason is
  'The class of the error, or why the run ended otherwise than usual; never a message.';
comment on column muniment.consolidation_runs.handed_at is 'When the questions were handed over to the batch endpoint.';

comment on table muniment.pair_fingerprints is
  'A row is a pair of memories that was compared, and with what result. Written by consolidation; removed after '
  'consolidation.fingerprint_days.';
comment on column muniment.pair_fingerprints.low_id is 'The lower of the two ids.';
comment on column muniment.pair_fingerprints.high_id is 'The higher of the two ids.';
comment on column muniment.pair_fingerprints.score is
  'The cosine similarity in hundredths; a pair with another score is compared anew.';
comment on column muniment.pair_fingerprints.judgement is 'same, supersedes, different or unanswered.';
comment on column muniment.pair_fingerprints.source is 'Who judged: rules, model, or person (who took a merge back).';
comment on column muniment.pair_fingerprints.run_id is 'The run that compared them last.';
comment on column muniment.pair_fingerprints.checked_at is 'When they were compared last.';
comment on column muniment.pair_fingerprints.tries is 'On how many days (UTC) a model was asked in vain.';

-- The queue.
comment on table jobs.queue is
  'A row is a job that waits or runs. Written in the transaction of what it is about; taken, put back and deleted by '
  'workers.';
comment on column jobs.queue.id is
  'The number of the job; those with the same lock and priority are taken in this order.';
comment on column jobs.queue.name is 'What is to be done, such as extract or tend.';
comment on column jobs.queue.priority is
  '0; -1 for a job that has stepped aside, so that the later ones of its lock pass.';
comment on column jobs.queue.lock is
  'Of the jobs with the same lock one runs at a time: the space for extract, else the job''s own dedup_key.';
comment on column jobs.queue.dedup_key is 'Space, name and key of the job; of the waiting jobs one has it.';
comment on column jobs.queue.args is 'Tenant, owner, type of owner and key (such as a turn''s id); never a text.';
comment on column jobs.queue.status is 'todo (waits) or doing (runs); a job that is done has no row.';
comment on column jobs.queue.scheduled_at is 'Not before this time, by the database''s clock; null: at once.';
comment on column jobs.queue.attempts is 'How many attempts have failed.';
comment on column jobs.queue.worker_id is 'The worker that runs it; null when it waits, and when its worker has died.';
comment on table jobs.workers is
  'A row is a worker that is at work. Written by the worker; removed when it leaves, or by another one after '
  'jobs.stalled_seconds without a sign.';
comment on column jobs.workers.id is 'The number of the worker; a worker that was removed gets a new one.';
comment on column jobs.workers.last_heartbeat is 'Its last sign of life, by the database''s clock.';
comment on table jobs.slots is
  'A row is a time slot of a periodic job that was given to a worker. Written by the worker that was first; the '
  'latest thousand of a job are kept.';
comment on column jobs.slots.id is 'The order in which slots were given away.';
comment on column jobs.slots.name is 'The name of the periodic job.';
comment on column jobs.slots.slot is 'The start of the slot, in seconds since 1970 (UTC).';
comment on function jobs.notify_workers() is
  'Notifies the channel muniment_jobs#<name> for each name among the jobs of an insert.';

-- Functions.
comment on function muniment.enter_space(uuid, text[]) is
  'Opens one space to row-level security until the transaction ends; with `allowed`, of its memories only these '
  'categories.';
comment on function muniment.my_spaces() is
  'The spaces that the transaction has entered; null: none, and no row is seen.';
comment on function muniment.all_categories() is
  'Whether the transaction has entered its space without an allowlist of categories.';
comment on function muniment.my_categories() is 'The allowlist of categories of the transaction; null without one.';
comment on function muniment.refuse(text, text) is
  'Raises an error with this SQLSTATE and message, so that the rest of a pipeline is not done.';
comment on function muniment.expect_embedder(text) is
  'Raises MU002 unless this is the embedding model in use, with that one as the message and the wanted one as the '
  'detail.';
comment on function muniment.speaker_dimension(text) is
  'The dimension of postings that lists the memories of this speaker: a negative number.';
comment on function muniment.commit_plan(uuid, jsonb, bigint, int, jsonb, halfvec[], sparsevec[], jsonb, boolean, jsonb, jsonb, jsonb) is
  'Writes a whole plan in one statement. Raises 40001 when the space is not at revision `expected` or what was looked '
  'at is erased, and MU001 when the plan was written before.';
comment on function muniment.apply_changes(uuid, jsonb, halfvec[], sparsevec[], jsonb, boolean) is
  'Writes the memories of a plan, archives the states that they replace, and adds to the journal; `fresh`: none of '
  'the memories was there before.';
comment on function muniment.near(uuid, text[], text[], text[], halfvec[], text, int) is
  'What candidates meet: the revision of the space (n = 0), then for each candidate the active memories of its kind '
  'that share its key or attribute, and the closest `most` by cosine.';

-- Policies: named after the table and the role.
do $$
declare p record;
begin
  for p in select tablename, policyname from pg_policies where schemaname = 'muniment' loop
    execute format('comment on policy %I on muniment.%I is %L', p.policyname, p.tablename, case
      when p.policyname in ('memories_own', 'memory_versions_own') then
        'The application reads the rows of the space it has entered that are in its allowed categories, '
        'and writes them when it entered without an allowlist.'
      when p.policyname in ('journal_own', 'relations_own') then
        'The application reads the rows of the space it has entered, and writes them when it entered without an allowlist.'
      when p.policyname = 'spaces_own' then 'The application sees and writes the row of the space it has entered.'
      when p.policyname = 'consent_requests_read' then
        'A reader whose allowlist has the category profile may read the structured profile.'
      when p.policyname = 'thread_revision_read' then 'A reader with an allowlist may know how far its thread has been shown.'
      when p.policyname like '%\_own' then
        'The application sees and writes the rows of the space it has entered, when it entered without an allowlist.'
      when p.policyname like '%\_keeper' then
        'The keeper reads over all spaces; its grants leave out every text.'
      when p.policyname like '%\_eraser' then
        'The eraser sees, removes and changes rows of the space it has entered, as far as its grants go.'
    end);
  end loop;
  -- Of a database that had them; see 0013.
  if to_regclass('jobs.procrastinate_jobs') is not null then
    comment on table jobs.procrastinate_jobs is
      'Unused since migration 0013, and empty: a trigger hands over to jobs.queue what a process of the former '
      'version enqueues.';
    comment on table jobs.procrastinate_workers is 'Unused since migration 0013.';
    comment on table jobs.procrastinate_periodic_defers is 'Unused since migration 0013.';
    comment on table jobs.procrastinate_events is 'Unused since migration 0013.';
    comment on function jobs.hand_over() is 'Moves a job that a process of the former version enqueues to jobs.queue.';
  end if;
end $$;
