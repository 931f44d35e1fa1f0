"""The reading of a pgTAP script's output."""

from __future__ import annotations

from tests.support.pgtap import Tap


def test_a_script_that_ran_its_plan_passes() -> None:
    assert Tap.parse("1..2\nok 1 - first\nok 2 - second\n").problems() == []


def test_a_failing_assertion_is_shown_with_its_diagnostics() -> None:
    tap = Tap.parse("1..2\nok 1\nnot ok 2 - sum\n# Failed test 2\n#   have: 1\n")
    assert tap.problems() == ["not ok 2 - sum", "# Failed test 2", "#   have: 1"]


def test_too_few_assertions_fail() -> None:
    assert Tap.parse("1..3\nok 1\n").problems() == ["the script planned 3 assertions and ran 1"]


def test_no_output_fails() -> None:
    assert Tap.parse("").problems() == ["the script printed no plan"]


def test_an_empty_plan_fails_and_a_skipped_one_gives_its_reason() -> None:
    assert Tap.parse("1..0\n").problems() == ["the script ran no assertion"]
    assert Tap.parse("1..0 # SKIP needs 18\n").skip_reason == "needs 18"


def test_an_expected_failure_passes() -> None:
    assert Tap.parse("1..1\nnot ok 1 - later # TODO later\n").problems() == []
