"""Values of the pages of the console: counts and lists that no other face asks for."""
