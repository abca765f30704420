"""Writes vectors.json: what the golden values leave open, as CPython and NumPy draw it.

    python3 rng/tests/vectors.py > rng/tests/vectors.json
"""

import json
import platform
import random

import numpy as np

SEEDS = [0, 7, 2**32 - 1, 2**32, 2**64 - 1]
RANGES = [(0, 1), (0, 2), (-3, 4), (0, 2**31 + 1), (0, 2**32 - 1), (0, 2**32), (0, 2**32 + 1), (-(2**63), 2**63 - 1)]
SHAPES = [0.1, 0.9, 1.0, 1.1, 4.0, 100.0]


def python(seed):
    r = random.Random(seed)
    return {
        "getrandbits": [[bits, r.getrandbits(bits)] for bits in (1, 5, 31, 32, 33, 48, 63, 64, 8)],
        "below": [[n, r.randrange(n)] for n in (1, 2, 3, 64, 1000, 2**32, 2**32 + 1, 2**63)],
        "choices": r.choices(range(1000), k=20),
        "random": [r.random() for _ in range(1300)][-3:],
    }


def generator(seed):
    """Calls mixed, so that a half word left over is carried across them."""
    g = np.random.default_rng(seed)
    return [[low, high, int(g.integers(low, high)), g.random()] for _ in range(5) for low, high in RANGES]


def legacy(seed):
    np.random.seed(seed)
    return {
        "randint": [[low, high, int(np.random.randint(low, high))] for _ in range(5) for low, high in RANGES],
        "gamma": [[shape, np.random.gamma(shape, 0.3)] for _ in range(60) for shape in SHAPES],
    }


print(
    json.dumps(
        {
            "made_by": f"CPython {platform.python_version()}, NumPy {np.__version__}, on {platform.machine()}",
            "python_random": {seed: python(seed) for seed in SEEDS},
            "numpy_default_rng": {seed: generator(seed) for seed in SEEDS},
            "numpy_legacy": {seed: legacy(seed) for seed in SEEDS if seed < 2**32},
        }
    )
)
