"""`anthropic:` on Anthropic's own SDK, which is imported when it is used."""

from weft.providers.base import Profile
from weft.providers.connection import Connection
from weft.providers.endpoint import Endpoint
from weft.providers.hosted import Hosted, SdkClient
from weft.providers.keys import ADDRESSES
from weft.providers.profiles import anthropic_profile

__all__ = ["Anthropic", "make"]


class Anthropic(Hosted):
    """Claude."""

    name = "anthropic"
    endpoint = Endpoint(ADDRESSES["anthropic"])

    def profile(self, model: str) -> Profile:
        return anthropic_profile(model)

    def _make_client(self, connection: Connection) -> SdkClient:
        from weft.providers.anthropic_client import Client  # noqa: PLC0415 - an SDK takes long to import

        return Client(connection)


def make() -> Anthropic:
    return Anthropic()
