"""The table `[tool.lawful.learn]`: what is read from it, what is refused, and how flags come on top."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from lawful import config
from lawful.config import Config, LearnConfig
from lawful.errors import LawfulError


def write(folder: Path, text: str) -> Path:
    path = folder / "pyproject.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_what_the_learner_is_told(tmp_path: Path) -> None:
    write(
        tmp_path,
        """
        [tool.lawful.learn]
        window = 50
        budget = 5
        templates = ["abb"]
        without-templates = ["ab?"]
        strategy = "ratio"
        seed = 7
        tune = false
        joins = ["result"]
        store = "history.db"
        always = true
        [tool.lawful.learn.thresholds]
        ratio.enforce = 0.9
        "ratio.dead" = 0.5
        """,
    )
    found = config.load(str(tmp_path)).learn
    assert found == LearnConfig(
        window=50,
        budget=5,
        templates=("abb",),
        without_templates=("ab?",),
        strategy="ratio",
        thresholds=(("ratio.enforce", 0.9), ("ratio.dead", 0.5)),
        seed=7,
        tune=False,
        joins=("result",),
        store=str(tmp_path / "history.db"),
        always=True,
    )
    above = LearnConfig(budget=0, templates=("aab",), thresholds=(("ratio.enforce", 0.8),), tune=True)
    both = config.combined(Config(learn=found), Config(learn=above)).learn
    assert (both.window, both.budget, both.tune, both.templates) == (50, 0, True, ("abb", "aab"))
    assert dict(both.thresholds) == {"ratio.enforce": 0.8, "ratio.dead": 0.5}


@pytest.mark.parametrize(
    ("text", "slug", "line", "message"),
    [
        ("[tool.lawful]\nlearn = 1", "config-value", 2, "must be a table"),
        ("[tool.lawful.learn]\nwindow = 'x'", "config-value", 2, "a whole number"),
        ("[tool.lawful.learn]\nwindow = true", "config-value", 2, "a whole number"),
        ("[tool.lawful.learn]\n\ntune = 1", "config-value", 3, "true or false"),
        ("[tool.lawful.learn]\nalways = 'yes'", "config-value", 2, "true or false"),
        ("[tool.lawful.learn]\nthresholds = {x = 'y'}", "config-value", 2, "`x` must be a number"),
        ("[tool.lawful.learn]\nwidow = 1", "config-unknown-key", 2, "`widow`"),
    ],
)
def test_mistakes_in_the_table_of_the_learner(text: str, slug: str, line: int, message: str, tmp_path: Path) -> None:
    path = write(tmp_path, text + "\n")
    with pytest.raises(LawfulError) as caught:
        config.load(str(tmp_path))
    assert (caught.value.slug, caught.value.where) == (slug, f"{path}:{line}")
    assert message in caught.value.message


def test_every_field_has_its_key() -> None:
    assert {each.name for each in fields(LearnConfig)} == set(config.settings(LearnConfig))
