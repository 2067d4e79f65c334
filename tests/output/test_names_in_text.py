"""Names of files, directories and fields are printed as they are: with a capital letter, a name is another one."""

import os
from pathlib import Path

from kdump.checks.wording import as_sentence
from kdump.cli.commands import main
from tests.checks.faults.case import LOG_DIRECTORY, PARTITION, FaultCase, write
from tests.checks.faults.test_faults import ONE_OF_EACH_CODE
from tests.loops import each
from tests.support import Capture, Patch

FIELDS = {"maxTimestamp", "baseTimestamp", "lastOffsetDelta", "baseOffset", "partitionLeaderEpoch", "topic_id", "node.id"}


@each("case", ONE_OF_EACH_CODE, ids=str, share=16)
@each("command", ["check", "forecast"])
def test_no_report_alters_a_name(case: FaultCase, command: str, tmp_path: Path, capfd: Capture, monkeypatch: Patch) -> None:
    monkeypatch.chdir(tmp_path)
    given = "data" if case.scope == LOG_DIRECTORY else PARTITION
    case.arranged(write(case.shown, Path("data" if case.scope == LOG_DIRECTORY else "."), case.scope))
    main([command, *(("--level", "deep", "--pedantic", "--all") if command == "check" else ()), given])
    words = set(capfd.readouterr().out.replace(",", " ").replace(":", " ").replace(". ", " ").split())
    names = FIELDS | {name for _, folders, files in os.walk(given) for name in (*folders, *files)} - {"data"}
    altered = {name[0].upper() + name[1:] for name in names if name[:1].islower()}
    assert not altered & words


def test_only_words_of_prose_get_a_capital_letter() -> None:
    sentences = {
        "the file is empty": "The file is empty.",
        "its first line is not JSON": "Its first line is not JSON.",
        "orders-3 ends": "orders-3 ends.",
        "maxTimestamp is negative": "maxTimestamp is negative.",
        "zstd payloads need a package": "zstd payloads need a package.",
        "3 bytes follow.": "3 bytes follow.",
    }
    assert {text: as_sentence(text) for text in sentences} == sentences
