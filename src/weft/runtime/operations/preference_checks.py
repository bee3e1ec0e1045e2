"""Check preferences when they are set, not when a context is assembled."""

from collections.abc import Mapping
from typing import Any

from weft.context.settings import read_layer_settings, read_preferences
from weft.context.tokens import estimator_of
from weft.runtime.operations.calibration import estimator_for, is_calibrated
from weft.tree.content import JsonValue


def check_preferences(settings: Mapping[str, JsonValue]) -> None:
    """Refuse what would break every context; what belongs to others is left alone."""
    read_preferences(settings)
    read_layer_settings(settings)
    check_estimator(settings)


def check_estimator(settings: Mapping[str, JsonValue]) -> None:
    """Refuse a name that nobody has. A vocabulary takes long to read: not while others wait."""
    wanted = settings.get("estimator")
    if isinstance(wanted, str) and not is_calibrated(wanted):
        estimator_of(wanted)


def check_calibration(settings: Mapping[str, JsonValue], grove: Mapping[str, Any]) -> None:
    """Refuse a version that the grove does not have."""
    wanted = settings.get("estimator")
    if isinstance(wanted, str) and is_calibrated(wanted):
        estimator_for(grove, wanted, None)
