-- Messages that are kept as a transcript alone: they are found and shown like messages, and nothing is learned from them.
alter table muniment.turns drop constraint turns_kind,
  add constraint turns_kind check (kind in ('message', 'transcript', 'tool', 'file', 'audit'));
comment on column muniment.turns.kind is 'message, transcript (a message from which nothing is learned), tool, file (read, written or uploaded) or audit (which no search finds).';
