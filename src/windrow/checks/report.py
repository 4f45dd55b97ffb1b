"""What a check has found, for people and for tests."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """What became of one law."""

    law: str
    holds: bool | None
    """None: it was not looked at."""
    text: str
    """What the law says; if it is broken, the smallest example; if not looked at, why."""

    def __str__(self) -> str:
        mark = {True: "✓", False: "✗", None: "–"}[self.holds]
        return f"{mark} {self.law}: {self.text}"


@dataclass(frozen=True)
class Report:
    """All findings; true if no law is broken."""

    subject: str
    findings: tuple[Finding, ...]
    examples: int

    @property
    def broken(self) -> list[str]:
        """The names of the laws that are broken."""
        return [finding.law for finding in self.findings if finding.holds is False]

    def __bool__(self) -> bool:
        return not self.broken

    def __str__(self) -> str:
        kept = "keeps its laws" if self else f"breaks {', '.join(self.broken)}"
        return "\n".join([f"{self.subject} {kept} ({self.examples:,} examples)", *map(str, self.findings)])
