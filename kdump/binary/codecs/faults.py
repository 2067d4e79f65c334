"""The errors that payloads of any codec may meet."""

from kdump.errors import CorruptData, MissingPackage


def too_large(limit: int) -> CorruptData:
    """The payload is larger than the caller allows."""
    return CorruptData("decompression-limit", f"the payload decompresses to more than {limit} bytes", limit=limit)


def missing_package(codec: str, package: str) -> MissingPackage:
    """The package of a codec is not installed."""
    return MissingPackage(f'{codec} payloads need the package "{package}"', remedy=f"pip install {package}")
