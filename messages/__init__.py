"""Immutable messages and public events: data only.

One module for each receiver (``agent``, ``run``, ``driver``, ``registry``,
``gateway``, ``cleaner``), and the values that several of them carry. Nothing
here imports another part of toolcrib.
"""
