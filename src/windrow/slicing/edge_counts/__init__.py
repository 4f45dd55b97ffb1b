"""How many edges, or cuts, the windows of one tree have together: what sharing slices costs."""

from windrow.slicing.edge_counts.bit_set import bit_set
from windrow.slicing.edge_counts.counted import EdgeCount, EdgeRate, count_edges, edge_rate
from windrow.slicing.edge_counts.f1 import f1
from windrow.slicing.edge_counts.f1_table import DivisorTable, f1_table

__all__ = [
    "DivisorTable",
    "EdgeCount",
    "EdgeRate",
    "bit_set",
    "count_edges",
    "edge_rate",
    "f1",
    "f1_table",
]
