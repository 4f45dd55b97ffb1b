"""A home as it is on disk: what is committed, read as any process would, whatever an engine has in memory.

Also what a test does to a home: hold it, compact it, tamper with it.
"""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path

from windrow.runtime.home.catalog import Catalog
from windrow.runtime.home.compaction import Compactor
from windrow.runtime.home.durable import force
from windrow.runtime.home.records import NewQuery
from windrow.runtime.home.slice_log import State, _index, _read, write_file


def home_of(engine):
    """The directory of an engine's home."""
    return engine._home.path


@contextmanager
def catalog_of(home):
    """The catalog of a home, by a connection of its own."""
    catalog = Catalog(Path(home) / "catalog.db")
    try:
        yield catalog
    finally:
        catalog.close()


# what is committed


def committed_query(home, name):
    """A query as the catalog knows it; None if it does not."""
    with catalog_of(home) as catalog:
        return catalog.query(name)


def committed_files(home, *kinds, owner=None):
    """The files of some kinds (results, slices, late, dead) that the catalog lists, oldest first."""
    with catalog_of(home) as catalog:
        return [file for kind in kinds for file in catalog.files(kind, owner)]


def committed_paths(home):
    """Where all the files are that the catalog lists."""
    with catalog_of(home) as catalog:
        return {Path(home) / path for (path,) in catalog.rows("SELECT path FROM files")}


def definition_of(home, name):
    """How a stream or table is defined, without its name and kind."""
    with catalog_of(home) as catalog:
        return catalog.definition(name).definition


def sizes_of_trees(home):
    """How many queries each tree has, sorted; a query that moves from one to another counts in both."""
    with catalog_of(home) as catalog:
        return [n for (n,) in catalog.rows("SELECT count(*) FROM members GROUP BY operator ORDER BY 1")]


def nodes_of_trees(home):
    """On which node each tree is, sorted; -1 for one that the driver holds."""
    with catalog_of(home) as catalog:
        return sorted(node for (node,) in catalog.rows("SELECT coalesce(node, -1) FROM operators"))


# what is done to a home


@contextmanager
def held(engine):
    """Hold the home of an engine, as its run does."""
    with engine._home.running():
        yield


def compact(engine, clock=lambda: 0.0):
    """Do all the housekeeping that is due in the home of an engine that does not run."""
    with held(engine):
        Compactor(engine._home, clock).compact()


def add_query(catalog, name, sql, stream, schema, retain=None):
    """Write a query into the catalog that nobody has bound; the query as the catalog knows it."""
    with catalog.transaction() as database:
        (stored,) = catalog.insert_queries(database, [NewQuery(name, sql, (stream,), schema, retain)])
    return stored


def define(home, name, kind, definition):
    """Write a definition into the catalog, as nobody but an engine should."""
    with catalog_of(home) as catalog, catalog.transaction() as database:
        catalog.write_definition(database, name, kind, definition)


def forget_in_definition(home, name, entry):
    """Take an entry out of a definition: those of earlier formats did not have it."""
    with catalog_of(home) as catalog:
        found = catalog.definition(name)
    left = {key: value for key, value in found.definition.items() if key != entry}
    define(home, found.name, found.kind, left)


def forget_what_queries_are_bound_to(home):
    """Take the records of bound plans out of a home, as if another Windrow had written them."""
    with catalog_of(home) as catalog, catalog.transaction() as database:
        database.execute("DELETE FROM bound")


def set_format(home, number):
    """Let a home say that it has another format."""
    with catalog_of(home) as catalog, catalog.transaction() as database:
        database.execute("UPDATE about SET format = ?", (number,))


def rewrite_slices(home, change):
    """Rewrite the slice log, sizes and checksums and all: `change` gets each table, or None, and gives another."""
    with catalog_of(home) as catalog, catalog.transaction() as database:
        for (name,) in database.execute("SELECT path FROM files WHERE kind = 'slices'").fetchall():
            path = Path(home) / name
            tables = {(found.operator, found.closed): change(_read(path, found)) for found in _index(path)}
            trees = dict.fromkeys(tree for tree, _ in tables)
            closed = {tree: table for (tree, is_closed), table in tables.items() if is_closed}
            write_file(
                path,
                [
                    State(tree, [] if closed.get(tree) is None else [closed[tree]], tables.get((tree, False)))
                    for tree in trees
                ],
            )
            database.execute("UPDATE files SET bytes = ?, checksum = ? WHERE path = ?", (*force(path), name))
