"""What is checked before anything is sent: that the model can do what it is asked, and that nothing is missing."""

from weft.errors import ProviderError, Trouble
from weft.providers.base import Profile, Request
from weft.tree.content import Audio, Image

__all__ = ["check_request", "media_of"]


def check_request(provider: str, request: Request, profile: Profile) -> None:
    """Refuse what the model cannot do, before anything is sent or paid."""
    asked = request.parameters
    if not 1 <= asked.n <= profile.choices:
        raise _cannot(
            provider, request, f"n is {asked.n:,}; one request has 1 to {profile.choices:,} choices"
        )
    if request.prefill and not profile.prefill:
        raise _cannot(provider, request, "takes no first words of an answer")
    if request.tools and not profile.tools:
        raise _cannot(provider, request, "calls no tools")
    if asked.stop and not profile.stop:
        raise _cannot(provider, request, "takes no stop sequences")
    if asked.logprobs is not None and asked.logprobs > profile.logprobs:
        has = (
            f"tells {profile.logprobs} alternatives at most" if profile.logprobs else "tells no probabilities"
        )
        raise _cannot(provider, request, has)
    if request.prompt is not None and request.messages:
        raise _cannot(provider, request, "either answers messages or continues a document, not both")
    blocks = [block for message in request.messages for block in message.blocks]
    if not profile.images and any(isinstance(block, Image) for block in blocks):
        raise _cannot(provider, request, "sees no images")
    if not profile.audio and any(isinstance(block, Audio) for block in blocks):
        raise _cannot(provider, request, "hears nothing")


def media_of(request: Request, block: Image | Audio) -> bytes:
    found = request.media.get(block.ref)
    if found is None:
        raise ProviderError(
            Trouble.INVALID_REQUEST, f"the bytes of {block.ref[:12]}… are not with the request"
        )
    return found


def _cannot(provider: str, request: Request, what: str) -> ProviderError:
    return ProviderError(Trouble.INVALID_REQUEST, f"{provider}:{request.model} {what}")
