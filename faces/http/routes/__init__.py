"""The endpoints of the service, one file a group."""
