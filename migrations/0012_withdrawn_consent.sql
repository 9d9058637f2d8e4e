-- What waits for a yes is withdrawn when the memory that it rests on is forgotten, or gives way to another one.
alter table muniment.consent_requests drop constraint consent_requests_decision;
alter table muniment.consent_requests add constraint consent_requests_decision
  check (decision in ('pending', 'approved', 'rejected', 'expired', 'replaced', 'withdrawn'));
