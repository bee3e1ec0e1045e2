"""The HTTP face: parse, call one runtime function, answer."""
