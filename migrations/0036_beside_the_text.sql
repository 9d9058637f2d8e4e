-- An erased statement goes from the labels and sources of other memories, and from the reasons of ended sessions, too.
grant update (tags, source) on muniment.memories, muniment.memory_versions to muniment_eraser;
grant update (ended_why) on muniment.sessions to muniment_eraser;
