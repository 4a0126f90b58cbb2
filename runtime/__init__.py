"""What actors work with; no actors in it."""

from __future__ import annotations

import logging

# Here and not in the package's root, which the scripted provider passes through
# as it starts: logging costs it 10 ms.
logging.getLogger("toolcrib").addHandler(logging.NullHandler())
