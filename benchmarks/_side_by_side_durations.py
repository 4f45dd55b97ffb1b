"""The durations in the reports of benchmarks that can be run side by side: seconds, by what they are of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any


def overlap(report: Mapping[str, Any]) -> dict[str, float]:
    """Of each size and window, by who answered it."""
    return {
        f"{m['size']}, RANGE {m['range']:,} s SLIDE {m['slide']} s: {m['way']}": m["median"]
        for m in report["measurements"]
        if m["median"] is not None
    }


def many_queries(report: Mapping[str, Any]) -> dict[str, float]:
    """Of the epochs, of registering and of the whole run, by the number of queries and the way."""
    found = {}
    for m in report["measurements"]:
        name = ("1 query" if m["queries"] == 1 else f"{m['queries']:,} queries") + (
            "" if m["way"] == "planned" else f", {m['way']}"
        )
        found |= {f"{name}: {part}": m[part] for part in ("epochs", "writing", "registering", "whole")}
    classes = report["classes"]
    name = f"{classes['queries']:,} queries in {classes['classes']:,} classes"
    return found | {
        f"{name}: {part}": classes["together"][part] for part in ("epochs", "registering", "whole")
    }


def recovery(report: Mapping[str, Any]) -> dict[str, float]:
    """Of restarts and the epochs after them, and of epochs and their commits."""
    found = {}
    for r in report["recoveries"]:
        parts = {"first answer": "median", "first epoch": "first_epoch", "later epochs": "steady"}
        found |= {f"{r['label']}: {part}": r[key] for part, key in parts.items()}
    for c in report["commits"]:
        parts = {"an epoch": "seconds", "its commit": "commit_seconds"}
        found |= {f"{c['rows']:,} rows: {part}": c[key] for part, key in parts.items()}
    return found


def nodes(report: Mapping[str, Any]) -> dict[str, float]:
    """Of an epoch, by the number of queries and by where the windows are."""
    return {
        f"{row['queries']:,} queries: {way}": row[way]["seconds"]
        for row in report["spread"]
        for way in ("driver", "tasks", "planned")
    }


def start(report: Mapping[str, Any]) -> dict[str, float]:
    """Of a start, and of the part of it that knows the queries."""
    found = {}
    for s in report["starts"]:
        name = f"{s['queries']:,} queries"
        found |= {f"{name}: a start": s["median"], f"{name}: home": s["phases"]["home and queries"]}
    return found


DURATIONS: Mapping[str, Callable[[Mapping[str, Any]], dict[str, float]]] = {
    "overlap": overlap,
    "many_queries": many_queries,
    "recovery": recovery,
    "nodes": nodes,
    "start": start,
}
