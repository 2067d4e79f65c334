"""The packages that decode blocks, loaded when the first payload needs them."""

from __future__ import annotations

import sys

from kdump.binary.installing import how_to_install
from kdump.binary.loading import loading
from kdump.errors import MissingPackage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def package(codec: str, name: str, module: str) -> Any:
    """This module of a codec's package. Raises MissingPackage, and as `loading`."""
    loaded = sys.modules.get(module)
    if loaded is not None:
        return loaded
    try:
        with loading(name):
            return __import__(module, fromlist=["decompress"])  # as importlib, without it
    except ImportError as error:
        raise MissingPackage(f'{codec} payloads need the package "{name}"', remedy=how_to_install(name)) from error
