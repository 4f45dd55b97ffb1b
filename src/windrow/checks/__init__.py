"""Does an aggregate keep the laws that windows rely on? For users who write their own, and for ours.

report = windrow.checks.check(HarmonicMean)
print(report)                                # every law, and the smallest example against it
windrow.checks.assert_conforms(HarmonicMean)       # for tests
"""

from windrow.checks.check import assert_conforms, check
from windrow.checks.report import Finding, Report

__all__ = ["Finding", "Report", "assert_conforms", "check"]
