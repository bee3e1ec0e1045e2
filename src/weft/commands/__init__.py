"""The language that models speak to a loom: lines that begin with `→`. No I/O, no clock, no globals."""
