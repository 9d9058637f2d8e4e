"""The forms of Chinese clauses that say what became of work.

A clause may lack its subject, so that it is its speaker's unless somebody else stands before the verb. What was
reached is told by verbs of achievement and resultative complements, what binds by modals and the place of a norm."""
