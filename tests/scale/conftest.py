"""Tests on clusters leave Dask as they found it."""

import pytest


@pytest.fixture(scope="module", autouse=True)
def scheduler_is_restored():
    """Restore Dask's default scheduler, which clients that are closed out of order leave behind."""
    config = pytest.importorskip("dask.config", reason="the extra 'dask' is not installed").config
    before = config.get("scheduler")
    yield
    config.pop("scheduler", None)
    if before is not None:
        config["scheduler"] = before
