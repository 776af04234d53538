"""``python -m sfumato.cli`` does what the console script does."""

from sfumato.cli.main import run

run()
