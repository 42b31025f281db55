"""The plain page: nothing inline, nothing from elsewhere, nothing that makes markup of text."""

from __future__ import annotations

import re

from handrail.bridge.page import FILES, page_file


def texts() -> dict[str, str]:
    return {path: page_file(path)[0].decode() for path in FILES}


def test_every_file_is_there_with_its_type():
    kinds = {path: page_file(path)[1].partition(";")[0] for path in FILES}
    assert kinds == {"/": "text/html", "/page.js": "text/javascript", "/page.css": "text/css"}


def test_the_page_holds_no_script_and_no_style_of_its_own():
    page = texts()["/"]
    assert re.findall(r"<script(?![^>]*\bsrc=)|<style|\son\w+=|\sstyle=|javascript:", page) == []


def test_nothing_comes_from_elsewhere():
    assert re.findall(r"https?://|(?:src|href)=\"//", "".join(texts().values())) == []


def test_text_never_becomes_markup():
    written = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|createContextualFragment"
    assert re.findall(written, texts()["/page.js"]) == []
