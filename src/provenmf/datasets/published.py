"""Data sets published as text: downloaded through pooch, read, and compared with what they hold.

The checksum is that of the numbers and names, not of the bytes, which depend on line ends.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from provenmf.errors import InvalidInput

Arrays = dict[str, Any]
_GITHUB = "https://raw.githubusercontent.com"


@dataclass(frozen=True)
class Published:
    """Files by the name of their content, how to read them, and the checksum of the arrays."""

    files: Mapping[str, str]
    read: Callable[[Mapping[str, str]], Arrays]
    sha256: str

    def arrays(self, texts: Mapping[str, str], name: str) -> Arrays:
        """Read the texts of the files, and refuse what is not the data set."""
        try:
            arrays = self.read(texts)
        except (ValueError, IndexError) as error:
            raise InvalidInput(f"the files of {name!r} are not as expected ({error})") from error
        if checksum(arrays) != self.sha256:
            raise InvalidInput(f"the files of {name!r} are not as expected (another checksum)")
        return arrays


def checksum(arrays: Mapping[str, NDArray[np.generic]]) -> str:
    """SHA-256 of arrays and their names: numbers as doubles, text in lines."""
    content = hashlib.sha256()
    for name, array in sorted(arrays.items()):
        content.update(f"{name} {array.shape}\n".encode())
        is_text = array.dtype.kind == "U"
        content.update("\n".join(array).encode() if is_text else array.astype("<f8").tobytes())
    return content.hexdigest()


def _expression(texts: Mapping[str, str]) -> Arrays:
    return {"X": np.loadtxt(texts["data"].splitlines())}


def _signatures(texts: Mapping[str, str]) -> Arrays:
    header, *rows = (line.split("\t") for line in texts["table"].splitlines() if line.strip())
    return {
        "W": np.array([row[1:] for row in rows], dtype=np.float64),
        "channels": np.array([row[0] for row in rows]),
        "signatures": np.array(header[1:]),
    }


def _answers(texts: Mapping[str, str]) -> Arrays:
    given, truth = (
        np.array([line.split(",") for line in texts[part].splitlines()[1:]], dtype=np.int64)
        for part in ("label", "truth")
    )
    columns = ("item", "worker", "label")
    arrays = {name: given[:, column] for column, name in enumerate(columns)}
    return {**arrays, "truth_item": truth[:, 0], "truth_label": truth[:, 1]}


def _crowd(name: str, sha256: str) -> Published:
    repository = f"{_GITHUB}/yuan-li/truth-inference-at-scale"
    folder = f"ff6d32971fb3ca17e2f0c784a126d8b26495dbce/data/SpectralMethodsMeetEM/{name}"
    files = {part: f"{repository}/{folder}/{part}.csv" for part in ("label", "truth")}
    return Published(files, _answers, sha256)


PUBLISHED = {
    "leukemia": Published(
        {
            "data": f"{_GITHUB}/mims-harvard/nimfa/9305ff9c8a3246eb322ff21f5fa9370034ff4a92/"
            "nimfa/datasets/ALL_AML/ALL_AML_data.txt"
        },
        _expression,
        "1baef0080da87ae997f295b8c60f4ca0c4c5562f264a72767713b54240a36f1c",
    ),
    "cosmic_sbs": Published(
        {
            "table": f"{_GITHUB}/AlexandrovLab/SigProfilerAssignment/26a966cf51c0/"
            "SigProfilerAssignment/data/Reference_Signatures/GRCh37/COSMIC_v3.3_SBS_GRCh37.txt"
        },
        _signatures,
        "bf87df202188e94e168d31a3a1dfecc9ef0e4eb20c05ee5f123728fbad0a40ed",
    ),
    "bluebird": _crowd(
        "bluebird", "290e8f731487e93e8d61b729fdf0287deeb55f5c23faefaeb1616623a6ff69ed"
    ),
    "rte": _crowd("rte", "365d6618252c6d892dc0bdd1c71b0722fb75fa6385e5e9b4e13d081e9caf2c77"),
    "dog": _crowd("dog", "2e2e40d4e7f505c5506391e5ec4783d7fbcff9cf17962b657d81727cf32ae77c"),
    "trec": _crowd("trec", "9b783b7057f56ccbb2ce0f622f604df2bade63f9eddf2f0c14c13aed2055235b"),
}
