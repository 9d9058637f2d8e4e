"""What the faces over HTTP share: bodies, limits, ids of requests, the socket and the end of a process."""
