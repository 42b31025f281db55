"""W20–W29: what a model, a tool or a file says, and what a browser makes of it."""

from __future__ import annotations

from handrail.bridge.web_attacks.probe import PNG, GotThrough, Probe
from handrail.bridge.web_attacks.row import Trying, attack

__all__: list[str] = []

SERVER_SIDE = "seen from the server: its headers; what the page makes of it is tested with the page"


def _says(*wanted: str) -> Trying:
    """The page's policy has all of these, and nothing that undoes them."""

    async def look(probe: Probe) -> None:
        for path in ("/", "/api/health"):
            headers = (await probe.ask("GET", path, token="")).headers
            policy = headers.get("content-security-policy", "")
            if missing := [one for one in wanted if one not in policy]:
                raise GotThrough(f"the policy of {path} does not say {missing[0]}")
            if "unsafe-" in policy or "*" in policy or headers.get("x-content-type-options") != "nosniff":
                raise GotThrough(f"the policy of {path} has a hole")

    return look


_SCRIPTS = ("default-src 'none'", "script-src 'self'", "require-trusted-types-for 'script'")
attack("W20", "scripts in what the model says", SERVER_SIDE)(_says(*_SCRIPTS))
attack("W21", "scripts in what a tool says", SERVER_SIDE)(_says(*_SCRIPTS))
attack("W22", "scripts and disguises in names of files", SERVER_SIDE)(_says(*_SCRIPTS))
attack("W23", "escape sequences of terminals that make links", SERVER_SIDE)(_says(*_SCRIPTS, "form-action 'none'"))
attack("W24", "a command whose end is out of sight", SERVER_SIDE)(_says("style-src 'self'", "frame-ancestors 'none'"))
attack("W26", "a picture whose address carries a secret away", SERVER_SIDE)(
    _says("img-src 'self' data: blob:;", "connect-src 'self';", "default-src 'none'")
)
attack("W27", "elements that lead the page away", SERVER_SIDE)(
    _says("base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'")
)


@attack("W25", "an upload that is a page in disguise")
async def disguised_upload(probe: Probe) -> None:
    vector = b'<svg xmlns="http://www.w3.org/2000/svg" onload="window.__xss=1"/>'
    heard = await probe.ask("POST", "/api/uploads", vector, content_type="application/octet-stream")
    probe.expect(heard, 415, what="an upload of SVG")
    heard = await probe.ask("POST", "/api/uploads", PNG, content_type="application/octet-stream")
    id = probe.expect(heard, 201, what="an upload that begins like a picture").json["id"]
    headers = probe.expect(await probe.ask("GET", f"/api/uploads/{id}"), 200, what="the upload").headers
    wanted = {
        "content-type": "image/png",
        "content-disposition": "attachment",
        "x-content-type-options": "nosniff",
        "content-security-policy": "sandbox; default-src 'none'",
    }
    for name, value in wanted.items():
        if headers.get(name) != value:
            raise GotThrough(f"{name} is {headers.get(name)}")


@attack("W28", "a page of another site that loads our answers as a script")
async def loaded_as_script(probe: Probe) -> None:
    for site in ("cross-site", "same-site"):
        loaded = {"sec_fetch_site": site, "sec_fetch_mode": "no-cors", "sec_fetch_dest": "script"}
        for way in await probe.ways():
            heard = probe.expect(await probe.ask(way.method, way.path, **loaded), 403, what=f"{site} {way.path}")
            if heard.headers.get("cross-origin-resource-policy") != "same-origin":
                raise GotThrough("other sites may load our answers")


@attack("W29", "keys that change what objects are")
async def strange_keys(probe: Probe) -> None:
    said = '{"type":"hello","protocol":1,"__proto__":{"isAdmin":true},"constructor":{"prototype":{"x":1}}}'
    if await probe.closing(said) != 4400:
        raise GotThrough("a message with unknown keys was taken")
    body = {"id": "w29", "command": "stop", "fields": {}, "__proto__": {"ok": True}}
    probe.expect(await probe.ask("POST", "/api/commands", body), 400, what="a body with unknown keys")
