"""The loopback counter where providers call an Agent's tools.

A request passes from the front thread's sockets (`reactor`, `connection`) and
checks (`checks`, `http`) to a worker (`service`, `workers`, `shares`), which
reads it as MCP (`protocol`) and runs the tool. `front` is the door for the
rest of toolcrib, and `registration` what one token opens.
"""
