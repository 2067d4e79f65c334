"""What commands end with; the drop-in form ends as Kafka's tool does."""

SUCCESS, FAILURE = 0, 1
"""Of Kafka's tool: also for damage that it only reports; where it throws, or shows its help."""

CLEAN = 0
"""All was read, and nothing is wrong."""

FINDINGS = 1
"""Something is damaged, or is lost at the next start."""

USAGE = 2
"""The command line asks for what does not exist."""

NOT_EXAMINED = 3
"""Something could not be examined, or kdump itself failed: nobody knows how bad it is."""

OUTPUT_FAILED = 4
"""The output could not be written."""

INTERRUPTED = 130
"""By Ctrl-C. Other signals that end kdump also give 128 and their number: 143 for SIGTERM, 129 for SIGHUP."""
