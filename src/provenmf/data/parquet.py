"""A Parquet file of numbers, read by its row groups."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from provenmf.data.disk import ArrayBlocks
from provenmf.errors import InvalidInput, UnreadableFile
from provenmf.io.arrays import FileState
from provenmf.io.files import check_format, check_unfolded, existing, optional, parsing


class _ParquetRows:
    """Rows of a Parquet file whose columns are all numbers; one row group is kept at a time."""

    def __init__(self, path: Path) -> None:
        parquet = optional("pyarrow.parquet", "Reading Parquet files", "files")
        self._path = path
        check_format(path)
        with parsing(path, "Parquet file", "write it again"):
            self._file = parquet.ParquetFile(path)
            groups = range(self._file.num_row_groups)
            stored = [self._file.metadata.row_group(i) for i in groups]
            counts = [group.num_rows for group in stored]
            for group in stored:
                check_unfolded(path, max(group.total_byte_size, group.num_rows))
            if any(count < 0 for count in counts):
                raise UnreadableFile(f"{path} declares groups of less than no rows: write it again")
        fields = self._file.schema_arrow
        for field in fields:
            if field.type.num_buffers != 2 or not _is_number(field.type):
                raise InvalidInput(
                    f"{path} has column {field.name!r} of type {field.type}: leave out what is no "
                    "number to read it block by block"
                )
        single = all(str(field.type) == "float" for field in fields)
        self.dtype = np.dtype(np.float32 if single else np.float64)
        self._stops = np.cumsum(counts, dtype=np.int64)
        self.shape = int(self._stops[-1]) if counts else 0, len(fields)
        self._state, self._group, self._rows = FileState(path), -1, np.empty((0, len(fields)))

    def __getitem__(self, rows: slice) -> NDArray[Any]:
        start, stop, _ = rows.indices(self.shape[0])
        self._state.check()
        first = int(np.searchsorted(self._stops, start, side="right"))
        found = []
        while start < stop:
            begin = int(self._stops[first - 1]) if first else 0
            found.append(self._read(first)[start - begin : stop - begin])
            start, first = int(self._stops[first]), first + 1
        return np.concatenate(found) if found else np.empty((0, self.shape[1]), self.dtype)

    def _read(self, group: int) -> NDArray[Any]:
        if group != self._group:
            with parsing(self._path, "Parquet file", "write it again"):
                table = self._file.read_row_group(group)
                table.validate(full=True)
                arrays = [c.to_numpy(zero_copy_only=False) for c in table.columns]
                self._rows = np.column_stack(arrays).astype(self.dtype)
            self._group = group
            declared = self._file.metadata.row_group(group).num_rows
            if self._rows.shape != (declared, self.shape[1]):
                raise UnreadableFile(
                    f"{self._path} has a group of {len(self._rows)} rows that declares {declared}: "
                    "write it again"
                )
        return self._rows


def _is_number(kind: Any) -> bool:
    return str(kind).startswith(("int", "uint", "float", "double", "halffloat"))


def open_parquet(path: str | Path, **options: Any) -> ArrayBlocks:
    """Blocks of a Parquet file; an empty cell is NaN."""
    return ArrayBlocks(_ParquetRows(existing(path)), **options)
