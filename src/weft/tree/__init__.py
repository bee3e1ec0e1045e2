"""What a loom holds, as frozen values: no I/O, no clock, no globals."""
