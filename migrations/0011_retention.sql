-- By which settings `tend_at` was reckoned. Under others - fewer days for a scope, say - a space is due once, though nobody speaks.
alter table muniment.spaces add column tend_terms text;
