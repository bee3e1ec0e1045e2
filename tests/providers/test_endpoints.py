"""Where requests may go, and where they never go."""

import asyncio
import datetime as dt
import ipaddress
import ssl

import httpx2
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from hypothesis import given
from hypothesis import strategies as st
from tests.covers import covers
from tests.providers.asking import chat, gather
from tests.providers.houses import ANTHROPIC, CANARY, CHAT, GOOGLE, connect
from tests.providers.loopback import Loopback, plain, streamed

from weft.errors import InvalidInputError, ProviderError, Trouble
from weft.providers.adapter import Connection
from weft.providers.anthropic import Anthropic
from weft.providers.base import Request
from weft.providers.capture import CaptureTransport
from weft.providers.compatible import Compatible
from weft.providers.endpoint import OFFLINE, Endpoint, check_name, checked_addresses
from weft.providers.events import cut_body
from weft.providers.keys import Keys, Secret

FORBIDDEN = [
    "127.0.0.1",
    "127.8.9.10",
    "::1",
    "10.0.0.1",
    "172.16.5.5",
    "192.168.1.1",
    "100.64.0.1",
    "fd00::1",
    "0.0.0.0",
    "::",
    "169.254.169.254",
    "fe80::1",
    "::ffff:127.0.0.1",
    "::ffff:169.254.169.254",
    "64:ff9b::a9fe:a9fe",
    "2002:7f00:1::",
    "224.0.0.1",
    "192.0.0.192",
    "192.0.0.1",
    "100.100.100.200",
    "fec0::1",
    "::7f00:1",
    "::a9fe:a9fe",
    "64:ff9b:1::7f00:1",
    "fd00:ec2::254",
    "2001:db8::1",
    "240.0.0.1",
    "198.18.0.1",
]


@covers("security.forged-requests-refused")
@pytest.mark.parametrize("address", FORBIDDEN)
def test_a_name_that_leads_inside_is_refused(address, monkeypatch):
    monkeypatch.delenv(OFFLINE, raising=False)
    with pytest.raises(ProviderError, match="a private address|never allowed"):
        checked_addresses(Endpoint("https://api.example.com"), ["93.184.215.14", address])


@covers("security.forged-requests-refused")
@pytest.mark.parametrize(
    "address",
    [
        "169.254.169.254",
        "192.0.0.192",
        "100.100.100.200",
        "fd00:ec2::254",
        "fe80::1",
        "::ffff:169.254.169.254",
        "::a9fe:a9fe",
        "0.0.0.0",
        "224.0.0.1",
    ],
)
def test_some_places_are_refused_even_if_the_owner_sets_them(address):
    literal = f"[{address}]" if ":" in address else address
    for endpoint in (Endpoint(f"http://{literal}/v1"), Endpoint("http://lab.example/v1", private=True)):
        with pytest.raises(ProviderError, match="never allowed"):
            checked_addresses(endpoint, [address])


@covers("security.forged-requests-refused")
def test_the_owners_own_machines_are_reached_when_he_says_so(monkeypatch):
    monkeypatch.delenv(OFFLINE, raising=False)
    assert checked_addresses(Endpoint("http://localhost:11434/v1"), ["127.0.0.1"]) == ("127.0.0.1",)
    assert checked_addresses(Endpoint("http://192.168.1.5/v1"), ["192.168.1.5"]) == ("192.168.1.5",)
    assert checked_addresses(Endpoint("http://box.example/v1", private=True), ["192.168.1.5"])
    for name in ("box", "box.local", "box.lan", "box.home.arpa", "host.docker.internal"):
        assert checked_addresses(Endpoint(f"http://{name}/v1"), ["192.168.1.5"])
    with pytest.raises(ProviderError, match="a private address"):
        checked_addresses(Endpoint("http://box.example/v1"), ["192.168.1.5"])


@covers("security.private-endpoints-said")
def test_this_machine_by_name_is_this_machine(monkeypatch):
    monkeypatch.delenv(OFFLINE, raising=False)
    for name in ("localhost", "lab.localhost"):
        with pytest.raises(ProviderError, match="another machine"):
            checked_addresses(Endpoint(f"http://{name}:11434/v1"), ["192.168.1.5"])


@covers("security.private-endpoints-said")
def test_an_endpoint_of_the_environment_is_inside_only_if_that_was_said(monkeypatch):
    monkeypatch.delenv(OFFLINE, raising=False)
    inside = ("127.0.0.1", "10.0.0.1", "fd00::1", "::ffff:127.0.0.1")

    def lab(url, **environment):
        found = Compatible(environment={"WEFT_COMPATIBLE_LAB": url, **environment}).endpoints()
        assert "lab_private" not in found
        return Endpoint(found["lab"].url, private=found["lab"].private)

    for address in inside:
        for said in ({}, {"WEFT_COMPATIBLE_LAB_PRIVATE": "0"}):
            with pytest.raises(ProviderError, match=r"a private address.*WEFT_COMPATIBLE_NAME_PRIVATE=1"):
                checked_addresses(lab("https://lab.example/v1", **said), [address])
        assert checked_addresses(
            lab("https://lab.example/v1", WEFT_COMPATIBLE_LAB_PRIVATE="1"), [address]
        ) == (address,)
        assert checked_addresses(lab("https://lab.local/v1"), [address]) == (address,)
    with pytest.raises(ProviderError, match="never allowed"):
        checked_addresses(lab("https://lab.example/v1", WEFT_COMPATIBLE_LAB_PRIVATE="1"), ["169.254.169.254"])


@covers("security.private-endpoints-said")
def test_a_key_is_not_told_to_a_network_unless_its_owner_says_so():
    def key(url, *, private=False):
        keys = Keys(environment={"WEFT_KEY_LAB": CANARY}, ring=lambda: None)
        endpoint = Endpoint(url, private=private)
        return Connection(endpoint=endpoint, key_name="lab", keys=keys).key()

    for url in ("http://192.168.1.5/v1", "http://box.local/v1", "http://lab.example/v1"):
        with pytest.raises(ProviderError, match="unencrypted") as caught:
            key(url)
        assert CANARY not in str(caught.value)
        assert "WEFT_COMPATIBLE_LAB_PRIVATE=1" in caught.value.hint
        assert key(url, private=True).reveal() == CANARY
    for url in ("http://127.0.0.1:8000/v1", "http://[::1]/v1", "http://localhost/v1", "https://lab.example"):
        assert key(url).reveal() == CANARY


@covers("security.private-endpoints-said")
def test_a_preset_that_was_moved_outside_is_not_free_any_more():
    moved = Compatible(environment={"WEFT_COMPATIBLE_OLLAMA": "https://models.example/v1"})
    assert (moved.profile("ollama/x").local, moved.profile("ollama/x").prices) == (False, None)
    near = Compatible(environment={"WEFT_COMPATIBLE_OLLAMA": "http://box.local:11434/v1"})
    assert near.profile("ollama/x").local
    # What is no address is told when it is asked for, and hides nobody else.
    assert Compatible(environment={"WEFT_COMPATIBLE_OLLAMA": "nonsense"}).endpoints()["ollama"]


@covers("security.endpoint-pinned")
def test_a_key_does_not_go_outside_in_the_clear(monkeypatch):
    monkeypatch.delenv(OFFLINE, raising=False)
    with pytest.raises(ProviderError, match="not encrypted"):
        checked_addresses(Endpoint("http://api.example.com"), ["93.184.215.14"])
    assert checked_addresses(Endpoint("https://api.example.com"), ["93.184.215.14"])


@covers("security.endpoint-pinned")
def test_one_variable_keeps_everything_on_the_machine(monkeypatch):
    monkeypatch.setenv(OFFLINE, "1")
    for check in (lambda each: checked_addresses(each, ["93.184.215.14"]), check_name):
        with pytest.raises(ProviderError, match=OFFLINE) as refused:
            check(Endpoint("https://api.example.com"))
        assert not refused.value.retryable
    check_name(Endpoint("http://localhost:1"))


@pytest.mark.parametrize(
    "url",
    [
        "",
        "ftp://x",
        "https://",
        "file:///etc/passwd",
        "https://u:p@x",
        "https://x?key=1",
        "https://x#f",
        "http://x:99999",
    ],
)
def test_an_address_that_is_none_is_refused(url):
    with pytest.raises(InvalidInputError):
        Endpoint(url)


def ask(house, server, resolver=None, **settings):
    async def scene():
        provider = house.make(connect(server.url + house.base, house.name, **settings))
        try:
            return await gather(provider, chat("Hi", model=house.model))
        finally:
            await provider.close()

    return scene()


@pytest.mark.outer
@covers("security.endpoint-pinned", "security.forged-requests-refused")
@pytest.mark.parametrize("house", [ANTHROPIC, CHAT, GOOGLE], ids=lambda house: house.name)
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed_and_the_key_stays(house, status):
    async def scene():
        async with Loopback([streamed(*house.text(["x"]))]) as other:
            moved = plain(status, b"", location=f"{other.url}/stolen")
            async with Loopback([moved]) as server:
                with pytest.raises(ProviderError, match="redirect") as caught:
                    await ask(house, server)
        return caught.value, other

    error, other = asyncio.run(scene())
    assert (error.status, error.retryable) == (status, False)
    assert other.heard == []


@covers("security.endpoint-pinned")
def test_a_name_is_resolved_once_and_stays_what_it_was():
    asked = []

    async def turning(host, port):
        asked.append(host)
        return ["127.0.0.1"] if len(asked) == 1 else ["169.254.169.254"]

    async def scene():
        async with Loopback([streamed(*ANTHROPIC.text(["x"]))]) as server:
            keys = Keys(environment={"WEFT_KEY_LAB": CANARY}, ring=lambda: None)
            endpoint = Endpoint(f"http://models.example:{server.port}", private=True)
            provider = Anthropic(Connection(endpoint=endpoint, key_name="lab", keys=keys, resolver=turning))
            asking = [gather(provider, chat("Hi", model=ANTHROPIC.model)) for _ in range(3)]
            await asyncio.gather(*asking)
            await gather(provider, chat("Hi", model=ANTHROPIC.model))
            await provider.close()
        return server

    server = asyncio.run(scene())
    assert asked == ["models.example"]
    assert {heard.header("host") for heard in server.heard} == {f"models.example:{server.port}"}


@covers("security.forged-requests-refused")
def test_a_name_that_changes_to_a_place_inside_is_refused_when_it_is_asked_anew(monkeypatch):
    monkeypatch.delenv(OFFLINE, raising=False)

    async def inside(host, port):
        return ["127.0.0.1"]

    async def scene():
        async with Loopback([streamed(*ANTHROPIC.text(["x"]))]) as server:
            keys = Keys(environment={"WEFT_KEY_LAB": CANARY}, ring=lambda: None)
            endpoint = Endpoint(f"https://api.example.com:{server.port}")
            provider = Anthropic(Connection(endpoint=endpoint, key_name="lab", keys=keys, resolver=inside))
            with pytest.raises(ProviderError, match="a private address"):
                await gather(provider, chat("Hi", model=ANTHROPIC.model))
            await provider.close()
        return server

    assert asyncio.run(scene()).heard == []


@covers("security.endpoint-pinned")
def test_a_name_that_is_not_found_is_a_network_error(monkeypatch):
    monkeypatch.delenv(OFFLINE, raising=False)

    async def nowhere(host, port):
        raise OSError("Name or service not known")

    async def scene():
        keys = Keys(environment={"WEFT_KEY_LAB": CANARY}, ring=lambda: None)
        endpoint = Endpoint("https://api.example.com")
        provider = Anthropic(Connection(endpoint=endpoint, key_name="lab", keys=keys, resolver=nowhere))
        try:
            await gather(provider, chat("Hi", model=ANTHROPIC.model))
        finally:
            await provider.close()

    with pytest.raises(ProviderError, match="cannot resolve api.example.com") as caught:
        asyncio.run(scene())
    assert caught.value.trouble is Trouble.NETWORK


@covers("security.endpoint-pinned")
@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:1/x", "http://localhost:{port}/x", "https://127.0.0.1:{port}/x"]
)
def test_a_key_goes_to_its_own_host_only(url):
    async def scene():
        async with Loopback([plain(200, b"{}")]) as server:
            transport = CaptureTransport(Endpoint(server.url), Secret(CANARY))
            async with httpx2.AsyncClient(transport=transport) as client:
                with pytest.raises(ProviderError, match="this key is for 127.0.0.1"):
                    await client.get(url.format(port=server.port), headers={"x-api-key": CANARY})
        return server

    assert asyncio.run(scene()).heard == []


def certificate(tmp_path, name):
    """A server's context and a client's that trusts it, for one name."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    start = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(start)
        .not_valid_after(start + dt.timedelta(days=36_500))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = made.public_bytes(serialization.Encoding.PEM)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (tmp_path / "cert.pem").write_bytes(pem + private)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(tmp_path / "cert.pem")
    return server, ssl.create_default_context(cadata=pem.decode())


@covers("security.endpoint-pinned")
def test_a_pinned_address_is_still_asked_for_by_its_name_and_must_prove_it(tmp_path):
    tls, trusting = certificate(tmp_path, "models.example")

    async def here(host, port):
        return ["127.0.0.1"]

    async def scene(name):
        async with Loopback([streamed(*ANTHROPIC.text(["x"]))], tls=tls) as server:
            keys = Keys(environment={"WEFT_KEY_LAB": CANARY}, ring=lambda: None)
            endpoint = Endpoint(f"https://{name}:{server.port}", private=True)
            connection = Connection(endpoint=endpoint, key_name="lab", keys=keys, resolver=here, tls=trusting)
            provider = Anthropic(connection)
            try:
                await gather(provider, chat("Hi", model=ANTHROPIC.model))
            finally:
                await provider.close()
            return server

    server = asyncio.run(scene("models.example"))
    assert server.names == ["models.example"]
    with pytest.raises(ProviderError) as caught:
        asyncio.run(scene("other.example"))
    assert caught.value.trouble is Trouble.NETWORK


@covers("provider.wire-bytes")
@given(st.binary())
def test_the_pieces_of_any_body_are_the_body(body):
    assert b"".join(cut_body(body)) == body


@covers("provider.wire-bytes")
def test_requests_of_one_conversation_share_their_pieces():
    async def sent(*texts):
        async with Loopback([streamed(*ANTHROPIC.text(["x"]))]) as server:
            provider = ANTHROPIC.make(connect(server.url, "anthropic"))
            asked = chat(*texts, model=ANTHROPIC.model)
            asked = Request(model=asked.model, messages=asked.messages, system=("One.", "Two."))
            answer = await gather(provider, asked)
            await provider.close()
        return answer.recording.last.sent.segments

    short, long = asyncio.run(sent("a, [b]", "c")), asyncio.run(sent("a, [b]", "c", "d"))
    assert b'{"type":"text","text":"One."},' in set(short) & set(long)
    assert b'{"role":"user","content":"a, [b]"},' in set(short) & set(long)


@covers("security.forged-requests-refused")
@pytest.mark.parametrize(
    "address", ["93.184.215.14", "8.8.8.8", "2606:4700::1111", "64:ff9b::808:808", "::ffff:8.8.8.8"]
)
def test_what_is_outside_is_outside(address, monkeypatch):
    monkeypatch.delenv(OFFLINE, raising=False)
    assert checked_addresses(Endpoint("https://api.example.com"), [address]) == (address,)


def test_every_address_above_is_one():
    assert all(ipaddress.ip_address(address) for address in FORBIDDEN)
