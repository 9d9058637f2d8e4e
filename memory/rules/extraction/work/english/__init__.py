"""The forms of English clauses that say what became of work.

Each is who it is said of, a class of verbs or of modals, and what comes of it. Where the form alone also tells of other
things, it needs a cue: a sign of deliberation, the place that a norm holds in, what bounds an act, a date."""
