"""The figure of the soak: what the engine holds, over its epochs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot as plt

PANELS: tuple[tuple[str, float, dict[str, str]], ...] = (
    ("memory [MB]", 1 << 20, {"python_rss": "Python", "jvm_live": "JVM, live", "jvm_rss": "JVM, resident"}),
    (
        "files",
        1,
        {
            "files": "all", "results_files": "results", "slices_files": "slices", "late_files": "late",
            "dead_files": "dead", "spark_files": "Spark's",
        },
    ),
    (
        "disk [kB]",
        1 << 10,
        {
            "results_bytes": "results", "slices_bytes": "slices", "late_bytes": "late", "dead_bytes": "dead",
            "catalog_bytes": "catalog",
        },
    ),
    (
        "Spark's checkpoint [kB]",
        1 << 10,
        {"spark_offsets_bytes": "offsets", "spark_commits_bytes": "commits", "spark_sources_bytes": "sources"},
    ),
)  # fmt: skip


def draw(report: Mapping[str, Any], path: Path) -> None:
    """Write the figure as a PNG."""
    samples = report["samples"]
    figure, axes = plt.subplots(2, 2, figsize=(11, 7), sharex=True, layout="constrained")
    for panel, (title, unit, lines) in zip(axes.flat, PANELS, strict=True):
        for name, label in lines.items():
            panel.plot([s["epochs"] for s in samples], [s[name] / unit for s in samples], label=label)
        panel.set_title(title, fontsize=11)
        panel.set_ylim(bottom=0)
        panel.grid(True, color="#e4e4e4", linewidth=0.7)
        panel.spines[["top", "right"]].set_visible(False)
        panel.legend(frameon=False, fontsize=8)
    for panel in axes[1]:
        panel.set_xlabel("epochs")
    kills = report["kills"]["total"]
    figure.suptitle(f"One engine over its epochs; {kills} kills beside it", fontsize=13)
    figure.savefig(path, dpi=130)
    plt.close(figure)
