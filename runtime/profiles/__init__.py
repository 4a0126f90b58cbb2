"""Profiles: clones of them, their files, and the MCP servers that they declare."""
