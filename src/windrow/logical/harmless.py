"""Expressions that come from a home and not from a statement: they must not run code.

Binding refuses what a statement must not have by looking at its tree. Spark SQL that was written down is not
parsed again, for it would take as long as binding does; it is searched for words, which takes a microsecond.
"""

from __future__ import annotations

import re

from windrow.logical.bind.refuse import OUTSIDE

WORDS_OF_QUERIES = ("FROM", "IDENTIFIER", "JOIN", "SELECT", "TABLE", "USING")
FORBIDDEN = re.compile(
    rf"(?<![A-Z_])({'|'.join((*WORDS_OF_QUERIES, *map(str.upper, sorted(OUTSIDE))))})(?![A-Z0-9_])|\$\{{"
)
"""Words, in upper case, that the expressions of a record must not have, not even in strings and names: so it
takes no grammar to find them. They are functions that call any code; sub-queries, since a relation may name a
class and USING a program; and what makes names of computed text, or text of variables. A plan with such a
word in a string is sound, but is bound each time."""
EXTRACT = re.compile(r"(EXTRACT\([A-Z]+) FROM ")
"""Where binding often writes one of these words: EXTRACT(HOUR FROM ts) has no relation behind its FROM."""


def harmless(sql: str) -> str:
    """An expression, Spark SQL, as it is given; a ValueError if it has a forbidden word.

    >>> harmless("EXTRACT(HOUR FROM `s`.`ts`) = 3")
    'EXTRACT(HOUR FROM `s`.`ts`) = 3'
    >>> harmless("`Reflect`('java.lang.System', 'exit', 1)")
    Traceback (most recent call last):
    ValueError: REFLECT in an expression
    """
    # In upper case as Spark reads it: there are letters beyond ASCII that become ones of ASCII, as in ſelect.
    spelled = sql.upper()
    found = FORBIDDEN.search(spelled) and FORBIDDEN.search(EXTRACT.sub(r"\1 ", spelled))
    if found is not None:
        raise ValueError(f"{found[0]} in an expression")
    return sql
