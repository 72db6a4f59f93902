"""Print the lowest stated version of every dependency, as constraints for pip."""

import sys
import tomllib
from pathlib import Path

USER_EXTRAS = ("dask", "files")


def lowest_versions(project: dict[str, dict[str, list[str]]]) -> list[str]:
    """`name==version` for each `name>=version`; extras of a dependency are no constraint."""
    stated = list(project["dependencies"])
    for extra in USER_EXTRAS:
        stated += project["optional-dependencies"][extra]
    return [f"{name.partition('[')[0]}=={version}" for name, version in map(split, stated)]


def split(requirement: str) -> tuple[str, str]:
    """Name and lowest version of a requirement."""
    name, found, version = requirement.partition(">=")
    if not found or "," in version:
        raise SystemExit(f"pyproject.toml: {requirement!r} does not state a lowest version")
    return name.strip(), version.strip()


if __name__ == "__main__":
    if sys.version_info >= (3, 13):
        raise SystemExit("the lowest versions have no wheels for this Python: use 3.11 or 3.12")
    pyproject = Path(__file__).parents[1] / "pyproject.toml"
    print("\n".join(lowest_versions(tomllib.loads(pyproject.read_text())["project"])))
