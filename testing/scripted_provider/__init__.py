"""A scripted stand-in for the Cursor CLI and for Claude Code, as a real child process.

``python -m toolcrib.testing.scripted_provider --script FILE -p
--output-format stream-json ...`` takes the arguments of the Cursor CLI, and
with ``--input-format stream-json`` those of Claude Code. It speaks the CLI's
records on standard output, reads the servers of its profile, calls tools with
the official MCP client and keeps its conversations as files. What it says and
does, and how it fails, stands in the script::

    {"turns": [{
        "when": {"prompt": "(?P<key>ISSUE-[0-9]+)"},
        "steps": [
            {"think": "I should look that up."},
            {"call": "lookup_issue", "arguments": {"key": "{{match.key}}"}, "save": "issue",
             "on_error": [{"say": "I can't tell: {{error.message}}"}, {"result": {}}]},
            {"say": "It is {{results.issue.state}}.", "pieces": 3}
        ]
    }]}

The first turn whose ``when`` fits is played. Where its steps end without a
``result``, a successful one is printed, with all that was said as its text.
The whole format is in ``docs/testing.md``; `script.VERBS` is its table.

Nothing here imports a driver, the gateway or the record parser, so that parser
and stand-in cannot agree on a format that nobody else speaks. The MCP client,
which is slow to import, is imported only by a step that needs a server.
"""
