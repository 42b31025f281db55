"""The plain page: nothing inline, nothing from elsewhere, nothing that makes markup of text."""

from __future__ import annotations

import re
from pathlib import Path

from handrail.bridge import page

FOLDER = Path(page.__file__).parent
FILES = {path.name: path.read_text() for path in FOLDER.glob("*.*") if path.suffix != ".py"}
LOADED = re.compile(r"(?:src|href)=\"/([^\"]+)\"|from \"\./([^\"]+)\"")


def test_the_page_and_all_that_it_loads_are_there():
    loaded = {one or other for text in FILES.values() for one, other in LOADED.findall(text)}
    assert loaded == FILES.keys() - {"index.html"}


def test_the_page_holds_no_script_and_no_style_of_its_own():
    assert re.findall(r"<script(?![^>]*\bsrc=)|<style|\son\w+=|\sstyle=|javascript:", FILES["index.html"]) == []


def test_nothing_comes_from_elsewhere():
    assert re.findall(r"https?://|(?:src|href)=\"//", "".join(FILES.values())) == []


def test_text_never_becomes_markup():
    written = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|createContextualFragment"
    assert re.findall(written, "".join(FILES.values())) == []


def test_every_element_that_the_scripts_look_for_is_in_the_page():
    wanted = {name for text in FILES.values() for name in re.findall(r"find\(\"([\w-]+)\"\)", text)}
    assert wanted == set(re.findall(r"\bid=\"([\w-]+)\"", FILES["index.html"]))
