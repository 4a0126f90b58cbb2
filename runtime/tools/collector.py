"""The garbage collector, kept from looking through everything again and again."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["resting_collector"]

_resting = threading.Lock()


@contextmanager
def resting_collector() -> Iterator[None]:
    """Make many objects at once without a collection in between.

    Thousands of new objects that live on make the collector look through all of
    the process, some time after each: tenths of a second in which no thread runs,
    the gateway's included. Objects made while it rests it takes for new ones when
    it wakes, and they are mostly gone before it looks further.

    It rests for one caller at a time, so that it can't be kept from its work for
    long, and only where the application has it at work.
    """
    if not (gc.isenabled() and _resting.acquire(blocking=False)):
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        _resting.release()
