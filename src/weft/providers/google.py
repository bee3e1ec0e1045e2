"""`google:` on Google's own SDK, which is imported when it is used."""

from weft.providers.base import Profile
from weft.providers.connection import Connection
from weft.providers.endpoint import Endpoint
from weft.providers.hosted import Hosted, SdkClient
from weft.providers.keys import ADDRESSES
from weft.providers.profiles import google_profile

__all__ = ["Google", "make"]


class Google(Hosted):
    """Gemini."""

    name = "google"
    endpoint = Endpoint(ADDRESSES["google"])

    def profile(self, model: str) -> Profile:
        return google_profile(model)

    def _make_client(self, connection: Connection) -> SdkClient:
        from weft.providers.google_client import Client  # noqa: PLC0415 - an SDK takes long to import

        return Client(connection)


def make() -> Google:
    return Google()
