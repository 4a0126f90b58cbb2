"""Claude Code's stream-json dialect, with its control requests."""
