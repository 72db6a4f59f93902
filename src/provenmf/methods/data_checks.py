"""Data that an estimator is given, checked and seen as blocks of rows."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_array, check_non_negative, validate_data

from provenmf.data import Blocks, as_blocks, at_safe_scale, is_outside_memory
from provenmf.data.door import examine_entries
from provenmf.errors import InvalidInput
from provenmf.linalg.storage import own_rows, plain, stored_values
from provenmf.methods.traits import Traits

WITHOUT_NEGATIVE = (
    "set them to zero, or use a method that allows them, such as SPA, MERIT or AND "
    "({:method='spa'})"
)


class ChecksData:
    """The part of an estimator that validates X: its shape, and entries that the method can use.

    Data in memory are checked as scikit-learn does it, data outside of it in one pass of their own.
    """

    traits: ClassVar[Traits]
    n_features_in_: int

    def _blocks(self, X: Any, *, reset: bool) -> Blocks:
        """Validate X and see it as blocks of rows."""
        if is_outside_memory(X) or isinstance(X, Blocks):
            return self._blocks_outside_memory(X, reset=reset)
        return at_safe_scale(as_blocks(self._checked(self._validated(X, reset=reset))))

    def _validated(self, X: Any, *, reset: bool) -> Any:
        """A matrix in memory as scikit-learn wants it; entries may be NaN or infinite."""
        matrix = plain(X)
        try:
            matrix = check_array(
                own_rows(matrix) if sp.issparse(matrix) else matrix,
                accept_sparse="csr",
                dtype=[np.float64, np.float32],
                order="C",
                ensure_all_finite=False,
                estimator=self,
                input_name="X",
            )
            validate_data(self, X, reset=reset, skip_check_array=True)  # a frame has names, too
            return matrix
        except InvalidInput:
            raise
        except (ValueError, TypeError) as error:  # scikit-learn's words for data without use
            raise InvalidInput(str(error)) from error

    def _checked(self, X: Any) -> Any:
        """X, if its entries are numbers that the method can use."""
        values = stored_values(X)
        if not np.isfinite(values.sum(dtype=np.float64)):  # sums are quick, and nearly always tell
            invalid = values[~np.isfinite(values)]
            if len(invalid):
                self._refuse(int(np.isnan(invalid).sum()), len(invalid))
        if not self.traits.negative_data:
            try:
                check_non_negative(X, whom=type(self).__name__)
            except ValueError:
                self._refuse_negative()
        return X

    def _refuse_negative(self, how_many: str = "") -> None:
        """Entries that the method cannot take; scikit-learn's tests know the first words."""
        problem = f"Negative values in data passed to {type(self).__name__}{how_many}"
        raise InvalidInput(problem, argument="method", remedy=WITHOUT_NEGATIVE)

    def _refuse(self, missing: int, invalid: int, where: str = "") -> None:
        """Entries that are no finite numbers; rows and blocks count from 0."""
        if invalid > missing:
            raise InvalidInput(
                f"X contains infinity in {invalid - missing} entries{where}: remove or replace them"
            )
        raise InvalidInput(
            f"X contains NaN in {missing} entries{where}, and {type(self).__name__} needs all "
            "entries: fill them, or use HALS or ANLS, which leave missing entries out"
        )

    def _blocks_outside_memory(self, X: Any, *, reset: bool) -> Blocks:
        blocks = as_blocks(X)
        if blocks.n_rows == 0 or blocks.n_columns == 0:
            raise InvalidInput(
                f"X has shape {blocks.shape}; at least one row and column are needed"
            )
        if reset:
            self.n_features_in_ = blocks.n_columns
        elif blocks.n_columns != self.n_features_in_:
            raise InvalidInput(
                f"X has {blocks.n_columns} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input"
            )
        found = examine_entries(blocks)
        if found.invalid and found.missing == found.invalid and self.traits.missing_values:
            return self._blocks(blocks.everything(), reset=reset)
        if found.invalid:
            self._refuse(found.missing, found.invalid, found.where)
        if found.negative and not self.traits.negative_data:
            self._refuse_negative(f" ({found.negative} entries)")
        return at_safe_scale(blocks, found.largest)
