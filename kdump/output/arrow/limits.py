"""How large a record batch of Arrow is made, and how long a value in it; without Arrow itself, which takes long to load."""

BATCH_ROWS = 16384
BATCH_BYTES = 8 << 20
MAX_VALUE_BYTES = 1 << 20
