"""Archives of checkpoints: a file ``data/VERSION.tar.xz`` with a folder for each case.

In it are the streams, the checkpoint, folders that belong to it, and what came out before. Paths
in it begin with `ROOT`.
"""

import io
import lzma
import tarfile
from functools import lru_cache
from pathlib import Path
from typing import Final

from tests.system.upgrade.inputs import PARQUET, SQLITE

DATA: Final = Path(__file__).parent / "data"
ROOT: Final = "/root-of-the-case"
WITH_PATHS: Final = {"sources", "_metadata"}
"""Folders of a checkpoint in which Spark writes down paths."""
MADE_ANEW: Final = ("index", PARQUET, SQLITE)


def archive_of(version: str) -> Path:
    """Where the archive of a version is."""
    return DATA / f"{version}.tar.xz"


def versions() -> list[str]:
    """Versions that there are archives of."""
    return sorted(path.name.removesuffix(".tar.xz") for path in DATA.glob("*.tar.xz"))


def pack(base: Path, case: str, archive: tarfile.TarFile) -> None:
    """Add what a case has left; Hadoop's own checksums go, as some texts change."""
    for path in sorted(base.rglob("*")):
        inner = path.relative_to(base)
        is_hidden_sum = path.name.startswith(".") and path.suffix == ".crc"
        if path.is_dir() or is_hidden_sum or inner.parts[0] in MADE_ANEW:
            continue
        content = path.read_bytes()
        if WITH_PATHS & set(inner.parts):
            content = content.replace(str(base).encode(), ROOT.encode())
        member = tarfile.TarInfo(f"{case}/{inner}")
        member.size = len(content)
        member.mtime = int(path.stat().st_mtime)  # Spark's sources remember it
        archive.addfile(member, io.BytesIO(content))


def cases_of(version: str) -> set[str]:
    """Names of the cases in an archive."""
    with _opened(version) as file:
        return {name.partition("/")[0] for name in file.getnames()}


def unpack(version: str, case: str, base: Path) -> None:
    """Put a case's files into a folder, as if they had been written there."""
    with _opened(version) as file:
        for member in file.getmembers():
            if member.name.startswith(f"{case}/"):
                member.name = member.name.removeprefix(f"{case}/")
                file.extract(member, base, filter="data")
    for path in (base / "checkpoint").rglob("*"):
        if path.is_file() and WITH_PATHS & set(path.relative_to(base).parts):
            path.write_bytes(path.read_bytes().replace(ROOT.encode(), str(base).encode()))


def _opened(version: str) -> tarfile.TarFile:
    return tarfile.open(fileobj=io.BytesIO(_content(version)))


@lru_cache(maxsize=2)
def _content(version: str) -> bytes:
    return lzma.decompress(archive_of(version).read_bytes())
