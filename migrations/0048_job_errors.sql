-- Why an attempt at a job failed stays with the job, so that a person sees what it waits for.
alter table jobs.queue add column error text;
comment on column jobs.queue.error is 'The class of the error of the last attempt that failed, never its message; null where none has.';
