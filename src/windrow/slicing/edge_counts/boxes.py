"""A component of combs as boxes in a grid, and how much of the grid no box covers.

An instant is known by its residues modulo the powers of primes (the Chinese remainder theorem), and these
are independent of each other. Along one prime the combs name balls of residues, "t ≡ a (mod pᵉ)", which lie
inside each other or apart; cut along all of them, the residues fall into few *atoms*, as few as there are
exponents when all phases agree. Ordered so that a ball's atoms are neighbours, a comb is a box: a range of
atoms for each of its primes. A prime that only one comb has makes no axis: it thins the box out.

How much is free of boxes is a sum over the grid of a product with few axes in each factor, so it is worked
out an axis at a time: multiply the factors that have the axis, add up along it, and a factor over its
neighbours is left. A large prime goes first and leaves a small table on the primes beside it in the slides.

Needs: nothing. Time and space: the cells of the tables, known beforehand (`Boxes.order`); no sum cancels, so
floats stay exact to about 1e-15. Source: our own; variable elimination as in Dechter 1999, "Bucket
elimination".
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from windrow.slicing.edge_counts.factors import prime_powers

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


@dataclass(frozen=True)
class Axis:
    """The atoms of one prime: their weights out of `modulus` residues, and each ball's range of them."""

    prime: int
    modulus: int
    weights: list[int]
    balls: dict[tuple[int, int], range]
    """(pᵉ, residue) to atoms."""

    @classmethod
    def of(cls, prime: int, balls: set[tuple[int, int]]) -> Axis:
        """Atoms in the order of a walk through the balls, each before the balls inside it.

        >>> Axis.of(2, {(2, 0), (8, 4), (4, 3)}).weights
        [2, 3, 1, 2]
        """
        inside: dict[tuple[int, int], list[tuple[int, int]]] = {(1, 0): []}
        moduli = [1]
        for modulus, residue in sorted(balls):
            around = next(
                (m, residue % m) for m in reversed(moduli) if m < modulus and (m, residue % m) in inside
            )
            inside[around].append((modulus, residue))
            inside[modulus, residue] = []
            if moduli[-1] != modulus:
                moduli.append(modulus)
        weights: list[int] = []
        ranges: dict[tuple[int, int], range] = {}

        def walk(ball: tuple[int, int]) -> None:
            start = len(weights)
            weights.append(moduli[-1] // ball[0] - sum(moduli[-1] // m for m, _ in inside[ball]))
            for inner in inside[ball]:
                walk(inner)
            ranges[ball] = range(start, len(weights))

        walk((1, 0))
        return cls(prime, moduli[-1], weights, ranges)


@dataclass(frozen=True)
class Box:
    """A comb in the grid: its atoms along the primes that it shares, and its modulus along its own."""

    period: int
    phase: int
    sides: tuple[tuple[int, int, range], ...]
    """Axis number, pᵉ, and atoms."""
    thinned: int


class Order(NamedTuple):
    """Axes in the order in which they are summed, each with all axes of the table that it is summed in."""

    axes: list[tuple[int, tuple[int, ...]]]
    cells: int
    """Of all tables."""


class Boxes:
    """The combs of a component as (period, phase), at least two, none inside another."""

    def __init__(self, combs: Sequence[tuple[int, int]]) -> None:
        balls: dict[int, set[tuple[int, int]]] = {}
        users: dict[int, int] = {}
        for period, phase in combs:
            for prime, power in prime_powers(period):
                balls.setdefault(prime, set()).add((power, phase % power))
                users[prime] = users.get(prime, 0) + 1
        shared = [prime for prime in balls if users[prime] > 1]
        numbers = {prime: number for number, prime in enumerate(shared)}
        self.axes = [Axis.of(prime, balls[prime]) for prime in shared]
        self.users = [users[prime] for prime in shared]
        self.boxes: list[Box] = []
        for period, phase in combs:
            sides, thinned = [], 1
            for prime, power in prime_powers(period):
                if prime in numbers:
                    number = numbers[prime]
                    sides.append((number, power, self.axes[number].balls[power, phase % power]))
                else:
                    thinned *= power
            sides.sort()
            self.boxes.append(Box(period, phase, tuple(sides), thinned))

    def order(self, most_cells: int) -> Order | None:
        """In which order to sum, always the axis with the smallest table; None if all tables together
        would have too many cells."""
        sizes = [len(axis.weights) for axis in self.axes]
        scopes: list[set[frozenset[int]]] = [set() for _ in sizes]  # what the tables on an axis span
        for box in self.boxes:
            scope = frozenset([number for number, *_ in box.sides])
            for number in scope:
                scopes[number].add(scope)
        around: dict[int, frozenset[int]] = {}
        cells: dict[int, int] = {}

        def look_at(number: int) -> None:
            around[number] = frozenset().union(*scopes[number])
            cells[number] = prod([sizes[other] for other in around[number]])

        for number in range(len(sizes)):
            look_at(number)
        order = []
        all_cells = 0
        while cells:
            number = min(cells, key=cells.__getitem__)
            all_cells += cells.pop(number)
            if all_cells > most_cells:
                return None
            order.append((number, tuple(sorted(around[number]))))
            left = around[number] - {number}
            for neighbour in left:
                scopes[neighbour] = {scope for scope in scopes[neighbour] if number not in scope} | {left}
                look_at(neighbour)
        return Order(order, all_cells)

    def free(self, order: Order) -> float:
        """The share of instants that are in no comb."""
        weights = [np.array(axis.weights) / axis.modulus for axis in self.axes]
        return float(_sum(self._tables(np.float64), weights, order))

    def free_exactly(self, order: Order) -> Fraction:
        """The share of instants that are in no comb, as a fraction."""
        weights = [np.array(axis.weights, object) for axis in self.axes]
        instants = prod(axis.modulus for axis in self.axes) * prod(box.thinned for box in self.boxes)
        return Fraction(_sum(self._tables(object), weights, order), instants)

    def _tables(self, kind: Any) -> list[tuple[tuple[int, ...], np.ndarray[Any, Any]]]:
        """A table for each set of axes that some comb has: the share of a cell that stays free.

        Exact tables have whole numbers: the share times the moduli that thin the boxes out.
        """
        tables: dict[tuple[int, ...], np.ndarray[Any, Any]] = {}
        for box in self.boxes:
            axes = tuple(number for number, *_ in box.sides)
            if axes not in tables:
                tables[axes] = np.ones([len(self.axes[number].weights) for number in axes], kind)
            table = tables[axes]
            place = tuple(slice(atoms.start, atoms.stop) for *_, atoms in box.sides)
            if kind is object:
                inside = table[place] * (box.thinned - 1)
                table *= box.thinned
                table[place] = inside
            else:
                table[place] *= 1 - 1 / box.thinned
        return list(tables.items())

    def given(self, number: int) -> Iterator[tuple[int, list[tuple[int, int]]]]:
        """The weight of each atom of an axis, and the combs that are left for its instants."""
        axis = self.axes[number]
        for atom, weight in enumerate(axis.weights):
            if weight:
                left = set()
                for box in self.boxes:
                    side = next((side for side in box.sides if side[0] == number), None)
                    if side is None:
                        left.add((box.period, box.phase))
                    elif atom in side[2]:
                        rest = box.period // side[1]
                        left.add((rest, box.phase % rest))
                yield weight, list(left)


def _sum(tables: list[tuple[tuple[int, ...], np.ndarray[Any, Any]]], weights: list[Any], order: Order) -> Any:
    """The weighted sum over all cells of the product of tables."""
    for number, around in order.axes:
        product: Any = 1
        left = []
        for axes, table in tables:
            if number in axes:
                product = product * table.reshape(_stretched(axes, table.shape, around))
            else:
                left.append((axes, table))
        summed = np.tensordot(product, weights[number], (around.index(number), 0))
        left.append((tuple(other for other in around if other != number), summed))
        tables = left
    return prod(table.item() for _, table in tables)


def _stretched(axes: tuple[int, ...], shape: tuple[int, ...], around: tuple[int, ...]) -> list[int]:
    """The shape of a table among more axes."""
    sizes = dict(zip(axes, shape))
    return [sizes.get(number, 1) for number in around]
