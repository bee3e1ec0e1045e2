"""Groves with notes, as the tests of contexts have them."""

from tests.contexts.conftest import desk, loom

__all__ = ["desk", "loom"]
