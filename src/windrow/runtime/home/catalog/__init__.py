"""The catalog of a home, catalog.db: all SQL on it stands here, a file a subject.

`schema.py` has the tables, `database.py` the transactions, and the files beside them what is read from the
tables and written to them, as records (`home/records.py`). Nobody else writes SQL on the catalog: what is
needed gets a function here, with a name.
"""

from windrow.runtime.home.catalog.catalog import Catalog as Catalog
from windrow.runtime.home.catalog.schema import FORMAT as FORMAT
