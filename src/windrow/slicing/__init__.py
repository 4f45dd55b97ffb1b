"""Where to cut a stream so that every window is a whole number of slices."""

from windrow.slicing.composite import composite, composite_slide, edges
from windrow.slicing.cuts import Comb, Cuts
from windrow.slicing.cutty import cutty, cutty_per_window
from windrow.slicing.edge_counts import EdgeCount, EdgeRate, count_edges, edge_rate
from windrow.slicing.granules import cuts_for_pass, granules
from windrow.slicing.pairs import pairs, pairs_per_window
from windrow.slicing.panes import panes, panes_per_window
from windrow.slicing.row_window import RowWindow
from windrow.slicing.slice_starts import slice_starts
from windrow.slicing.slices import Slices, slices
from windrow.slicing.window import Window

__all__ = [
    "Comb",
    "Cuts",
    "EdgeCount",
    "EdgeRate",
    "RowWindow",
    "Slices",
    "Window",
    "composite",
    "composite_slide",
    "count_edges",
    "cuts_for_pass",
    "cutty",
    "cutty_per_window",
    "edge_rate",
    "edges",
    "granules",
    "pairs",
    "pairs_per_window",
    "panes",
    "panes_per_window",
    "slice_starts",
    "slices",
]
