"""What the pages of the console read in Postgres, each in the space that it has entered."""
