import json

from handrail.cli.printable import as_json_escapes, printable


def test_controls_are_written_out_and_lines_tabs_and_letters_stay():
    assert printable("é\t\U0001f600\r\n\x1b\x7f\u009b\u2066\ud800") == "é\t\U0001f600\n\\x1b\\x7f\\x9b\\u2066\\ud800"


def test_the_joiner_of_emoji_stays_and_invisible_tags_do_not():
    assert printable("\U0001f468\u200d\U0001f4bb\U000e0041") == "\U0001f468\u200d\U0001f4bb\\U000e0041"


def test_escaped_json_means_what_it_meant():
    value = {"text": "\x7f\u202e\U000e0041 \u2028"}
    shown = as_json_escapes(json.dumps(value, ensure_ascii=False))
    assert shown.isascii()
    assert json.loads(shown) == value
