"""The Protocols that adapters implement."""
