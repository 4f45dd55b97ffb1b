"""A stream's name as that of a directory: inside the home whatever it is, and one for each stream.

A name in backquotes may be anything, `../../elsewhere` too. Letters, digits, `_` and `-` stay as they are;
the bytes of anything else are written as in a URL. Streams whose names differ in case only are the same.
"""

from __future__ import annotations

import re
from hashlib import sha256

LONGEST = 255
"""Bytes that a name of a file may have."""
ODD = re.compile(r"[^\w-]")


def folder_name(name: str) -> str:
    """The directory of a stream, or of anything else that has a name.

    >>> folder_name("Flights"), folder_name("new flights"), folder_name("../../evil")
    ('flights', 'new%20flights', '%2e%2e%2f%2e%2e%2fevil')
    """
    name = name.lower()
    safe = ODD.sub(lambda odd: "".join(f"%{byte:02x}" for byte in odd[0].encode()), name)
    if len(safe.encode()) <= LONGEST:
        return safe
    # No two streams share a directory, however alike their names begin; and no shorter name has such a mark.
    mark = f"%-{sha256(name.encode()).hexdigest()[:32]}"
    return safe.encode()[: LONGEST - len(mark)].decode(errors="ignore") + mark
