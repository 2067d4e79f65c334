"""`python -m kdump` is the command `kdump`."""

from kdump.cli.main import run

if __name__ == "__main__":
    run()
