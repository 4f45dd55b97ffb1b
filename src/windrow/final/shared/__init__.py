"""All windows of a tree in one structure: any ranges, slides and offsets over one list of entries."""

from windrow.final.shared.choose import shared_structure
from windrow.final.shared.shared_windows import SharedWindows
from windrow.final.shared.structure import SharedStructure

__all__ = ["SharedStructure", "SharedWindows", "shared_structure"]
