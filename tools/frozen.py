"""Starts a self-contained build of kdump: the command or, with a word that nobody types, the process that reads stores."""

import sys

from kdump.binary.store_client import OF_FROZEN

if __name__ == "__main__":
    if sys.argv[1:] == [OF_FROZEN]:
        from kdump.binary import store_process

        store_process.main()
    else:
        from kdump.cli.main import run

        run()
