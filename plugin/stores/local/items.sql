-- name: find_space
select space, revision, removed, compared from space where tenant = ? and user = ?

-- name: add_space
insert into space (tenant, user) values (?, ?) on conflict do nothing

-- name: advance_revision
update space set revision = revision + 1 where space = ? returning revision

-- name: mark_removed
update space set removed = revision where space = ?

-- name: mark_compared
update space set compared = :revision where space = :space

-- name: read_salt
select salt from file

-- name: request_erasure
update file set must_erase = must_erase + 1

-- name: must_erase
select must_erase from file

-- name: note_erasure: unless more was forgotten meanwhile
update file set must_erase = 0 where must_erase = ?

-- name: truncate_log
pragma wal_checkpoint(truncate)

-- name: match_best: the first items by bm25, with an empty number for each that does not count
select item.n
from (select rowid as n, bm25(word) as rank from word where word match :match order by rank limit :first) best
left join item on item.n = best.n and item.space = :space and item.place in (:global, :project, :session)
  and item.forgotten is null and (item.expires is null or item.expires > :at)
  and (:types is null or instr(:types, ',' || item.type || ','))
order by best.rank

-- name: match_words: the items with the most telling words of a query, as bm25 counts
select item.n
from word join item on item.n = word.rowid
where word match :match and item.space = :space and item.place in (:global, :project, :session)
  and item.forgotten is null and (item.expires is null or item.expires > :at)
  and (:types is null or instr(:types, ',' || item.type || ','))
order by bm25(word) limit :limit

-- name: read_candidates: what their scores need
select n, id, changed, words, content from item where n in (select value from json_each(:rows))

-- name: read_rows
select * from item where n in (select value from json_each(:rows))

-- name: list_items
select * from item
where n in (
  select n from item
  where space = :space and (:everywhere or place in (:global, :project, :session))
    and forgotten is null and (expires is null or expires > :at)
    and (:types is null or instr(:types, ',' || type || ','))
    and (:scopes is null or instr(:scopes, ',' || scope || ','))
    and (:pinned is null or pinned = :pinned)
    and (:prefix is null or substr(replace(id, '-', ''), 1, length(:prefix)) = :prefix)
  order by changed desc, id limit :limit
)
order by changed desc, id

-- name: list_with_deleted
select * from item
where space = :space and (:everywhere or place in (:global, :project, :session))
  and (expires is null or expires > :at)
  and (:types is null or instr(:types, ',' || type || ','))
  and (:scopes is null or instr(:scopes, ',' || scope || ','))
  and (:pinned is null or pinned = :pinned)
  and (:prefix is null or substr(replace(id, '-', ''), 1, length(:prefix)) = :prefix)
order by changed desc, id limit :limit

-- name: find_item
select * from item where space = ? and id = ?

-- name: find_same
select * from item where space = ? and sameness = ? and forgotten is null order by n limit 1

-- name: find_tombstone
select 1 from tombstone where space = :space and (id = :id or digest = :digest) limit 1

-- name: add_item
insert into item (
    space, id, type, scope, project, session, place, content, summary, tags, keywords, confidence, importance, source,
    origin, created, updated, accessed, expires, fetched, pinned, changed, revision, sameness, words
) values (
    :space, :id, :type, :scope, :project, :session, :place, :content, :summary, :tags, :keywords, :confidence,
    :importance, :source, :origin, :created, :updated, :accessed, :expires, :fetched, :pinned, :changed, :revision,
    :sameness, :words
)

-- name: replace_item
update item set
    type = :type, scope = :scope, project = :project, session = :session, place = :place, content = :content,
    summary = :summary, tags = :tags, keywords = :keywords, confidence = :confidence, importance = :importance,
    source = :source, origin = :origin, created = :created, updated = :updated, accessed = :accessed,
    expires = :expires, fetched = :fetched, pinned = :pinned, changed = :changed, revision = :revision,
    sameness = :sameness, words = :words
where n = :n

-- name: wipe_item: nothing of its texts stays
update item set
    content = '', summary = null, tags = '[]', keywords = '[]', origin = null, words = '', sameness = x'',
    forgotten = :at, pinned = 0, revision = :revision
where n = :n

-- name: remove_item
delete from item where n = ?

-- name: pin_item
update item set pinned = :pinned, revision = :revision where n = :n

-- name: note_access
update item set accessed = :at where n = :n and (accessed is null or accessed < :at)

-- name: add_tombstone
insert into tombstone (space, id, digest) values (:space, :id, :digest)
on conflict do update set digest = coalesce(digest, excluded.digest)

-- name: add_words
insert into word (rowid, words) values (?, ?)

-- name: remove_words
insert into word (word, rowid, words) values ('delete', ?, ?)

-- name: merge_words: what was removed is in the index until its parts are merged
insert into word (word) values ('optimize')

-- name: put_vector
insert into vector (n, model, data) values (:n, :model, :data)
on conflict do update set model = excluded.model, data = excluded.data

-- name: remove_vector
delete from vector where n = ?

-- name: touch_item: the caches of this and of other processes read it again
update item set revision = :revision where n = :n

-- name: list_changed_vectors: for a cache that has all up to a revision
select item.n, item.type, item.place, item.expires, item.forgotten, vector.data
from item left join vector on vector.n = item.n and vector.model = :model
where item.space = :space and item.revision > :since

-- name: list_unembedded
select item.n, item.space, item.content
from item left join vector on vector.n = item.n
where item.forgotten is null and (vector.model is null or vector.model <> :model)
order by item.n limit :limit

-- name: list_expired
select * from item where space = :space and forgotten is null and pinned = 0 and expires <= :at order by n limit :limit

-- name: list_purged
select * from item where space = :space and forgotten <= :before order by n limit :limit

-- name: list_uncompared: what was written after one revision and not after another
select * from item
where space = :space and forgotten is null and (revision, n) > (:since, :after) and revision <= :until
order by revision, n limit :limit

-- name: find_copies: other items of the same fact
select * from item where space = ? and sameness = ? and n <> ? and forgotten is null order by n

-- name: read_vector
select data from vector where n = ? and model = ?

-- name: measure_space
select count(*), coalesce(sum(length(cast(content as blob))), 0) from item where space = ? and forgotten is null

-- name: list_least: what is dropped first
select * from item where space = :space and forgotten is null and pinned = 0
order by importance, changed, id limit :limit

-- name: count_pages
select (select freelist_count from pragma_freelist_count()), (select page_count from pragma_page_count())

-- name: check_file
pragma quick_check(1)

-- name: vacuum
vacuum

-- name: has_content
select 1 from item where n = :n and content = :content and forgotten is null
