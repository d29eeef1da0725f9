"""Prints expressions with what Python says they are; expressions.json is its output.

Each line is [expression, [value of a, value of b], result]; the result is null where a step
divides by zero, has a negative exponent or leaves the range of 64 bits.
"""

import json
import operator
import random

A, B = "a", "b"
INT64 = range(-(2**63), 2**63)
NAMED = {
    "+": operator.add,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "min": min,
    "max": max,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "and": lambda left, right: bool(left) and bool(right),
    "or": lambda left, right: bool(left) or bool(right),
}
EDGES = [-(2**63), -(2**32), -7, -1, 0, 1, 2, 3, 2**31, 2**63 - 1]


class UndefinedError(Exception):
    """The value that C++ refuses to compute."""


def power(base, exponent):
    if exponent < 0:
        raise UndefinedError
    if abs(base) > 1 and exponent > 64:
        raise UndefinedError  # Python would compute millions of digits
    return base**exponent


def evaluate(expression, values):
    if isinstance(expression, int):
        return expression
    if isinstance(expression, str):
        return values[expression]
    name, *operands = expression
    results = [evaluate(operand, values) for operand in operands]
    if name == "not":
        return int(not results[0])
    result, *rest = results
    for value in rest:
        try:
            result = int((power if name == "**" else NAMED[name])(result, value))
        except ZeroDivisionError as error:
            raise UndefinedError from error
        if result not in INT64:
            raise UndefinedError
    return result


def random_expression(rng, depth):
    if depth == 0 or rng.random() < 0.2:
        return rng.choice([A, B, rng.choice(EDGES), rng.randrange(-5, 6)])
    name = rng.choice([*NAMED, "**", "not"])
    if name == "not":
        return [name, random_expression(rng, depth - 1)]
    several = name in ("+", "*", "min", "max", "and", "or")
    count = rng.randrange(2, 5) if several else 2
    return [name, *(random_expression(rng, depth - 1) for _ in range(count))]


def cases():
    for name in [*NAMED, "**"]:
        for a in EDGES:
            for b in EDGES:
                yield [name, A, B], a, b
    rng = random.Random(7)
    for _ in range(400):
        yield random_expression(rng, 3), rng.choice(EDGES), rng.randrange(-9, 10)


def main():
    lines = []
    for expression, a, b in cases():
        try:
            result = evaluate(expression, {A: a, B: b})
        except UndefinedError:
            result = None
        lines.append(json.dumps([expression, [a, b], result]))
    print("[\n" + ",\n".join(lines) + "\n]")


main()
