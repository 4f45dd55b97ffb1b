"""What names mean to an engine: the queries and streams that it was told of, and those that its home has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.errors import WindrowError, suggestion

if TYPE_CHECKING:
    from windrow.api.registry import Registry
    from windrow.api.relations import Relations
    from windrow.logical import Stream
    from windrow.runtime.home.home import Home
    from windrow.runtime.home.records import StoredQuery
    from windrow.runtime.state.queries import RunningQuery


class Names:
    """Finds queries and streams by their names, in any case; an error says which there are."""

    def __init__(self, home: Home, registry: Registry, relations: Relations) -> None:
        self._home = home
        self._registry = registry
        self._relations = relations

    def queries(self) -> list[str]:
        """The names of the queries: those registered, and those that the home has from earlier engines."""
        registered = [query.stored.name for query in self._registry.queries.values()]
        names = [*registered, *(query.name for query in self._home.catalog.queries())]
        return list({name.lower(): name for name in reversed(names)}.values())[::-1]

    def registered(self, name: str) -> RunningQuery:
        """A query that the engine runs."""
        found = self._registry.queries.get(name.lower())
        if found is None:
            queries = self.queries()
            known = ", ".join(queries) or "none"
            raise WindrowError(
                f"there is no query '{name}'; {suggestion(name, queries) or f'registered: {known}'}"
            )
        return found

    def stored(self, name: str) -> StoredQuery:
        """A query as the home has it, also one that an earlier engine left there."""
        return self._home.catalog.query(name) or self.registered(name).stored

    def stream(self, name: str) -> tuple[str, Stream | None]:
        """A stream's name as it is spelled, and the stream if it is declared here."""
        found = self._home.catalog.definition(name)
        known = self._relations.known_stream(name)
        if found is None and known is None:
            known = self._relations.stream(name)  # says what there is
        return known.name if known is not None else found.name if found is not None else name, known
