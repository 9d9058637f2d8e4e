"""What threads of the supervisor graph have beside their turns."""
