"""Writes arrivals.json: the instants, in seconds since the start, at which vLLM's client sends its requests.

Re-derived from the formula of `get_request` in vllm/benchmarks/serve.py (the same in 0.11 and 0.33, but for
burstiness inf, which 0.11 lacks): request i of n arrives a gap after the one before it, drawn from NumPy's global
generator as gamma(shape=burstiness, scale=1/(rate_i*burstiness)), or 1/rate_i for burstiness inf. rate_i is the
request rate, or start+(end-start)*i/(n-1) (linear), or start*(end/start)**(i/(n-1)) (exponential). Without a ramp
the times are then scaled so that the last is n/rate. The function itself, of both versions, gives the same values
to the last bit (called with time.time and asyncio.sleep replaced, under NumPy 2.4.6).

    python3 fire-requests/tests/arrivals.py > fire-requests/tests/arrivals.json
"""

import itertools
import json

import numpy as np


def gaps(seed, burstiness, rates):
    np.random.seed(seed)
    for rate in rates:
        yield 1 / rate if burstiness == np.inf else np.random.gamma(burstiness, 1 / (rate * burstiness))


def constant(seed, n, burstiness, rate):
    times = list(itertools.accumulate(gaps(seed, burstiness, [rate] * n)))
    factor = (n / rate) / times[-1]
    return {
        "flags": f"--seed {seed} --burstiness {burstiness} --request-rate {rate}",
        "times": [time * factor for time in times],
    }


def ramp(seed, n, burstiness, strategy, start, end):
    parts = [i / max(n - 1, 1) for i in range(n)]
    rates = {
        "linear": [start + (end - start) * part for part in parts],
        "exponential": [start * (end / start) ** part for part in parts],
    }[strategy]
    return {
        "flags": f"--seed {seed} --burstiness {burstiness} --ramp-up-strategy {strategy}"
        f" --ramp-up-start-rps {start} --ramp-up-end-rps {end}",
        "times": list(itertools.accumulate(gaps(seed, burstiness, rates))),
    }


SEEDS = [0, 42, 2**32 - 1]
SHAPES = [0.3, 1.0, 2.5, np.inf]
cases = [
    *(constant(*case) for case in itertools.product(SEEDS, [1, 2, 12], SHAPES, [10, 0.7])),
    *(
        ramp(*case, *of)
        for case in itertools.product(SEEDS, [1, 9], SHAPES)
        for of in [("linear", 1, 10), ("linear", 5, 5), ("exponential", 1, 16)]
    ),
    constant(7, 40, 1.0, 200),
    ramp(7, 40, 0.5, "linear", 100, 400),
]
print("{\"numpy\": %s, \"cases\": [" % json.dumps(np.__version__))
print(",\n".join(map(json.dumps, cases)))
print("]}")
