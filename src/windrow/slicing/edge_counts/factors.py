"""Prime factors of a period, remembered: every tree that a planner tries has the same few periods.

Time: small primes are divided out; what is left of a period of microseconds is seldom more than one
prime, which Miller's test recognises (exact below 2⁶⁴); two large primes are parted by Pollard's rho,
in about the fourth root of the number.
"""

from __future__ import annotations

from functools import lru_cache
from math import gcd, isqrt

_SMALL = [p for p in range(2, 1_000) if all(p % d for d in range(2, isqrt(p) + 1))]
_WITNESSES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)


@lru_cache(maxsize=1 << 17)
def prime_powers(number: int) -> tuple[tuple[int, int], ...]:
    """The primes that divide a number, each with its power in it.

    >>> prime_powers(360)
    ((2, 8), (3, 9), (5, 5))
    """
    powers: dict[int, int] = {}
    rest = number
    for prime in _SMALL:
        if prime * prime > rest:
            break
        while rest % prime == 0:
            powers[prime] = powers.get(prime, 1) * prime
            rest //= prime
    for prime in _large_primes(rest):
        powers[prime] = powers.get(prime, 1) * prime
    return tuple(sorted(powers.items()))


def _large_primes(number: int) -> list[int]:
    """Prime factors with repetition, of a number without small ones."""
    if number == 1:
        return []
    if _is_prime(number):
        return [number]
    divisor = _divisor(number)
    return _large_primes(divisor) + _large_primes(number // divisor)


def _is_prime(number: int) -> bool:
    if number <= _SMALL[-1] ** 2:
        return True  # it has no small factor
    odd, twos = number - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    for witness in _WITNESSES:
        power = pow(witness, odd, number)
        if power in (1, number - 1):
            continue
        for _ in range(twos - 1):
            power = power * power % number
            if power == number - 1:
                break
        else:
            return False
    return True


def _divisor(number: int) -> int:
    """A proper divisor of a composite number: Pollard's rho with Floyd's cycle."""
    for increment in range(1, number):
        slow = fast = 2
        divisor = 1
        while divisor == 1:
            slow = (slow * slow + increment) % number
            fast = (fast * fast + increment) % number
            fast = (fast * fast + increment) % number
            divisor = gcd(slow - fast, number)
        if divisor != number:
            return divisor
    raise AssertionError(f"{number} has no divisor")
