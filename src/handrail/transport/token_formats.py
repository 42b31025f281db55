"""Formats of keys that services issue: facts that the issuers and secret scanners publish."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

__all__ = ["tokens_in"]

# By the fewest characters that follow the prefix. Where a prefix also begins ordinary words, that is the full length.
_PREFIXES = {
    4: b"sk-ant-",
    10: b"xoxa- xoxb- xoxc- xoxd- xoxe- xoxo- xoxp- xoxr- xoxs- xoxe.xoxb- xoxe.xoxp- xapp- xwfp- tskey-",
    12: b"sk- sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ rk_prod_ lsv2_pt_ lsv2_sk_",
    16: b"""glpat- gldt- glrt- glrtr- glptt- glft- glimt- glagent- glcbt- glsoat- gloas- glffct- glwt- GR1348941 dop_v1_
        doo_v1_ dor_v1_ figd_ lin_api_ lin_oauth_ shpat_ shpca_ shppa_ shpss_ shptka_ sq0atp- sq0csp- xkeysib- xsmtpsib-
        hvs. hvb. hvr. dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit. sntrys_ sntryu_ NRAK- NRJS- NRII- NRIQ- PMAK-
        CFPAT- tfp_ rdme_ dckr_pat_ dckr_oat_ nfp_ nfc_ sbp_ sb_secret_ pscale_tkn_ pscale_pw_ pscale_oauth_ bkua_
        CCIPAT_ CCIPRJ_ GOCSPX- ya29. AGE-SECRET-KEY-1 ops_eyJ ATATT3xFf ATCTT3xFf ntn_ glsa_ glc_ HRKU- HRKU-AA fo1_
        fm1_ fm2_ fm1r_ fm1a_ FLWSECK_ shippo_live_ shippo_test_ duffel_live_ duffel_test_ CLOJARS_ dt0c01. dt0s01.
        rubygems_ pypi-AgE pypi-AgN api_org_ whsec_ phx_ gsk_ pplx- xai- r8_ LSKEY- amzn.mws.""",
    20: b"ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ npm_ hf_",
    24: b"1//0 ATBB EZAK EZTK",
    30: b"AIza secret_ pul- p8e- ico- sha256~ SG. sl. v1.0- pnu_ vercel_ AKCp ABSK oy2 EAAA EAAC fio-u-",
}
_LENGTHS = {prefix: length for length, prefixes in _PREFIXES.items() for prefix in prefixes.split()}

# Formats without a prefix, by a part that a line must contain.
_AWS = b"AKIA ASIA ABIA ACCA AGPA AIDA AIPA ANPA ANVA AROA APKA".split()
_DISCORD = rb"[MNO][\w-]{23,27}\.[GXYZ][\w-]{5}\.[\w-]{27,40}(?![\w-])"
_SHAPES = {
    **{prefix: prefix + rb"[0-9A-Z]{16}(?![A-Za-z0-9])" for prefix in _AWS},
    **dict.fromkeys((b".G", b".X", b".Y", b".Z"), _DISCORD),
    b"LTAI": rb"LTAI[A-Za-z0-9]{16,24}(?![A-Za-z0-9])",  # Alibaba
    b"AKID": rb"AKID[A-Za-z0-9]{32}(?![A-Za-z0-9])",  # Tencent
    b"dapi": rb"dapi[a-h0-9]{32}(?:-\d)?(?![A-Za-z0-9])",  # Databricks
    b"key-": rb"key-[0-9a-zA-Z]{32}(?![A-Za-z0-9])",  # Mailgun
    b"SK": rb"SK[0-9a-f]{32}(?![A-Za-z0-9])",  # Twilio
    b"-us": rb"[0-9a-f]{32}-us\d{1,2}(?!\w)",  # Mailchimp
    b":AA": rb"\d{8,10}:AA[\w-]{32,34}(?![\w-])",  # Telegram
    b"Q~": rb"[\w.~-]{3}\dQ~[\w.~-]{31,34}",  # Azure, client secret
    b"AzCa": rb"\w{32,}AzCa\w{5,}",  # Azure, key with a checksum
    b"JQQJ99": rb"\w{20,}JQQJ99\w{20,}",  # Azure, key with a checksum
    b".atlasv1.": rb"\w{14}\.atlasv1\.[\w-]{60,}",  # Terraform
    b"A3-": rb"A3-[A-Z0-9]{6}-(?:[A-Z0-9]{5,11}-){3,5}[A-Z0-9]{5}",  # 1Password
    b"FlyV1": rb"FlyV1 f[\w,=+/-]{16,}",  # Fly.io
    b"eyJ": rb"eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*){0,3}",  # JWT, JWE
}

# The start of a word; in a JSON string it may follow an escape such as \n.
_START = rb"(?:(?<![A-Za-z0-9])|(?<=\\[nrtbf]))"


def tokens_in(data: bytes) -> Iterator[tuple[int, int]]:
    """Start and end of each key of a known format. They may overlap."""
    for prefix, length in _LENGTHS.items():
        if prefix in data:
            yield from (found.span() for found in _by_prefix(prefix, length).finditer(data))
    for part, shape in _SHAPES.items():
        if part in data:
            yield from (found.span() for found in _by_shape(shape).finditer(data))


@cache
def _by_prefix(prefix: bytes, length: int) -> re.Pattern[bytes]:
    """A prefix and its rest, without a full stop at the end of a sentence."""
    return re.compile(_START + re.escape(prefix) + rb"(?=[\w.-]{%d})[\w-]+(?:\.[\w-]+)*" % length)


@cache
def _by_shape(shape: bytes) -> re.Pattern[bytes]:
    return re.compile(_START + shape)
