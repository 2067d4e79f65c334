"""Tables as text for people and programs."""
