"""A short fuzzing campaign, and tests that it detects faults."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from handrail.schema import View
from tests.fuzz import wire


@pytest.fixture(scope="module")
def corpus() -> wire.Corpus:
    return wire.Corpus(wire.RECORDINGS)


def test_short_campaign_finds_nothing(corpus: wire.Corpus):
    total = wire.Outcome()
    for batch in range(5):
        total.add(wire.run_batch(corpus, f"small:{batch}"))
    assert total.failures == []
    assert total.kinds["typed"] > wire.LEAST_TYPED * total.kinds.total()
    assert total.kinds["bad line"] > 0.05 * total.kinds.total()
    assert total.kinds["unknown"] > 0


def test_the_same_seed_makes_the_same_lines(corpus: wire.Corpus):
    first, second, other = (wire.Mutator(corpus, Random(seed)) for seed in (1, 1, 2))
    lines = [first.line() for _ in range(50)]
    assert lines == [second.line() for _ in range(50)]
    assert lines != [other.line() for _ in range(50)]


def test_about_half_of_the_lines_are_unchanged(corpus: wire.Corpus):
    whole = {seed.line for seed in corpus.seeds}
    mutator = wire.Mutator(corpus, Random(1))
    assert 400 < sum(mutator.line() in whole for _ in range(1000)) < 600


@pytest.mark.parametrize("damage", dict.fromkeys(wire.DAMAGE), ids=lambda damage: damage.__name__)
def test_every_kind_of_damage_changes_a_line(corpus: wire.Corpus, damage: object):
    seed = max(corpus.seeds, key=lambda seed: len(seed.keys) + len(seed.values))
    mutator = wire.Mutator(corpus, Random(3))
    assert any(damage(mutator, seed) != seed.line for _ in range(20))  # type: ignore[operator]


def test_property_that_fails_in_a_nested_view_is_reported():
    class Fragile(View):
        @property
        def broken(self) -> str:
            raise ValueError("no such thing")

    class Outer(View):
        inner: list[Fragile] = []

    with pytest.raises(ValueError, match="no such thing"):
        wire.look_at(Outer(inner=[Fragile()]))


def test_failing_line_is_reported_with_its_seed(corpus: wire.Corpus):
    class Torn(dict[bytes, str]):
        def get(self, key: bytes, default: object = None) -> str:
            raise KeyError("torn")

    broken = wire.Corpus(wire.RECORDINGS)
    broken.subtypes = Torn()
    failures = wire.run_batch(broken, "9:9").failures
    assert failures
    assert failures[0].startswith("seed 9:9: KeyError: 'torn'\n    b'")


def test_figures_on_the_page_are_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    page = tmp_path / "page.md"
    page.write_text("# What happens\n")
    monkeypatch.setattr(wire, "PAGE", page)
    wire.write_page("one figure")
    page.write_text(page.read_text() + "\n## After\n")
    wire.write_page("another figure")
    text = page.read_text()
    assert ("one figure" in text, text.count("another figure"), text.count("## Hostile lines")) == (False, 1, 1)
    assert text.startswith("# What happens\n")
    assert text.endswith("\n## After\n")


def test_a_folder_without_recordings_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        wire.main(["--recordings", str(tmp_path)])
    assert "holds no recordings" in capsys.readouterr().err
