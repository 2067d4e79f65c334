"""Unpacks archives of the project, also with Python 3.11.0 to 3.11.3, whose `extractall` has no `filter`."""

import os
import shutil
import tarfile
from pathlib import Path


def unpack(archive: tarfile.TarFile, folder: Path) -> None:
    """Write the files and directories of an archive into a folder, with their times of modification.

    Raises ValueError for anything else, and for a name that leads out of the folder.
    """
    root = folder.resolve()
    for member in archive:
        path = (root / member.name).resolve()
        if not path.is_relative_to(root) or not (member.isfile() or member.isdir()):
            raise ValueError(f"{member.name}: neither a file nor a directory of the archive")
        if member.isdir():
            path.mkdir(parents=True, exist_ok=True)
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        source = archive.extractfile(member)
        assert source is not None  # of a file
        with source, path.open("wb") as file:
            shutil.copyfileobj(source, file)
        os.utime(path, (member.mtime, member.mtime))
