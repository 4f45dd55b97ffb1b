"""Which algorithm the planner takes: by algebra, by what was measured, and by a hint."""

import pytest

from windrow.aggregates.operations import ADD_FLOATS, ADD_INTEGERS, GREATEST, MOMENTS
from windrow.errors import PlanError, WindrowError
from windrow.final import FINAL_AGGREGATORS, Costs, choose, shipped_costs
from windrow.final.measure_slides import OPERATIONS

FLAT = [[1, 20, 10], [1024, 20, 10]]
LINEAR = [[1, 5, 5], [1024, 5 * 1024, 5 * 1024]]


def costs(**by_algorithm):
    """The same points for every operation; who is not named is dear."""
    operations = [operation.name for operation, _ in OPERATIONS]
    dear = [[1, 1000, 1000], [1024, 1000, 1000]]
    return Costs(
        "made up",
        {name: dict.fromkeys(operations, by_algorithm.get(name, dear)) for name in FINAL_AGGREGATORS},
    )


def test_a_small_window_is_recalculated_and_a_long_one_is_not():
    table = costs(recalculate=LINEAR, blocked_two_stacks=FLAT)
    assert [str(choose(ADD_FLOATS, n, costs=table)) for n in (1, 3, 5, 100)] == [
        "recalculate", "recalculate", "blocked_two_stacks", "blocked_two_stacks",
    ]  # fmt: skip
    choice = choose(ADD_FLOATS, 100, costs=table)
    assert (choice.next_best.name, round(choice.next_nanoseconds)) == ("recalculate", 500)


@pytest.mark.parametrize("operation", [ADD_FLOATS, MOMENTS])
def test_what_rounds_is_never_subtracted_nor_left_to_chance(operation):
    """However cheap: the same bits after a restart, and no drift."""
    cheap = costs(subtract_on_evict=LINEAR, slick_deque_inv=LINEAR, two_stacks=LINEAR, daba=LINEAR)
    assert choose(operation, 1, costs=cheap).algorithm.repeatable
    assert choose(ADD_INTEGERS, 1, costs=cheap).nanoseconds == 5


def test_windows_of_each_key_get_a_structure_for_each_key_and_no_subtraction_of_floats():
    cheap = costs(subtract_on_evict=LINEAR, slick_deque_inv=LINEAR, blocked_two_stacks=LINEAR, daba=FLAT)
    assert str(choose(ADD_INTEGERS, 1, costs=cheap, partitioned=True)) == "slick_deque_inv"
    assert str(choose(ADD_FLOATS, 1, costs=cheap, partitioned=True)) == "daba"


def test_many_ranges_get_a_structure_that_answers_many():
    cheap = costs(two_stacks=LINEAR, daba=LINEAR, slick_deque_non_inv=FLAT)
    choice = choose(GREATEST, 1, ranges=5, costs=cheap)
    assert (str(choice), choice.nanoseconds) == ("slick_deque_non_inv", 20 + 4 * 10)


def test_a_hint_overrides_the_costs_where_it_is_of_use():
    table = costs(blocked_two_stacks=FLAT)
    assert str(choose(GREATEST, 8, costs=table, hint="flat_fat")) == "flat_fat"
    assert choose(GREATEST, 8, costs=table, hint="FLAT_FAT").next_best.name == "blocked_two_stacks"
    assert str(choose(ADD_INTEGERS, 8, costs=table, hint="slick_deque_non_inv")) == "blocked_two_stacks"
    with pytest.raises(PlanError, match="there is no final aggregator 'flatfat'; did you mean flat_fat"):
        choose(GREATEST, 8, hint="flatfat")


def test_what_a_table_does_not_know_costs_what_it_does_as_shipped():
    assert choose(GREATEST, 8, costs=Costs("empty", {})) == choose(GREATEST, 8)
    table = Costs("one", {"b_int": {"greatest": [[1, 0.1, 0.1]]}})
    assert str(choose(GREATEST, 8, costs=table)) == "b_int"


def test_a_structure_for_each_key_has_to_be_worth_its_memory():
    def chosen(nanoseconds):
        return str(choose(GREATEST, 8, costs=costs(blocked_two_stacks=FLAT, daba=[[1, nanoseconds, None]])))

    assert (chosen(17), chosen(15)) == ("blocked_two_stacks", "daba")


def test_the_shipped_table_has_every_algorithm_with_every_operation_that_it_accepts():
    for name, algorithm in FINAL_AGGREGATORS.items():
        for operation, _ in OPERATIONS:
            if algorithm.refusal(operation.algebra) is None:
                assert 0 < shipped_costs().slide(algorithm, operation, 100) < 1e6, (name, operation.name)
                if algorithm.many_ranges:
                    many = shipped_costs().slide(algorithm, operation, 100, ranges=3)
                    assert many >= shipped_costs().slide(algorithm, operation, 100)


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"nanoseconds": {"daba": {"greatest": [[1, "x", null]]}}}']
)
def test_a_broken_table_is_named_with_what_to_do(tmp_path, content):
    path = tmp_path / "costs.json"
    path.write_text(content)
    with pytest.raises(WindrowError, match=r"costs\.json is not a table of costs .* windrow calibrate"):
        Costs.read(path)
