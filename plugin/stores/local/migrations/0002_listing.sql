-- What a list decides by is in the index, so that it reads of the file only the items that it returns.
drop index item_changed;
create index item_listed on item (space, changed desc, id, type, scope, place, expires, pinned) where forgotten is null;
