"""Sessions, the builder of observations, projections and skills: what happens between a turn and a reader."""
