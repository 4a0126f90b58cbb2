"""Provider processes, the end of their trees, and the guard against the host's death."""
