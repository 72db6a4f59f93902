"""A signal handler that raises where Python leaves a `with` statement disturbs nothing for long."""

import warnings

import numpy as np
import pytest
from handlers import Stop, calls, check_undisturbed, stopped

CALLS = calls(np.random.default_rng(0))[::3]  # the fuzzer takes them all


@pytest.mark.parametrize("error", [Stop, KeyboardInterrupt])
@pytest.mark.parametrize("number", range(len(CALLS)))
def test_the_process_is_as_it_was(number, error):
    call = CALLS[number]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        call()
        total = stopped(call, 0, error)
        assert total > 5
        check_undisturbed(call, range(1, total + 1, 1 + total // 40), error)
