"""Taking operations back and doing them again: what each kind of event means backwards."""
