"""`python -m kdump` is the command `kdump`."""

from kdump.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
