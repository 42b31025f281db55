"""Views keep what they were read from, and say what does not fit."""

from __future__ import annotations

import json
import sys
from typing import Any, ClassVar

import msgspec
import pytest

from handrail.schema.view import (
    Number,
    OpenUnion,
    Part,
    View,
    ViewError,
    as_builtins,
    as_json,
    build_line,
    build_view,
    field_names,
    keep_raw,
    read_json,
    read_text,
    read_view,
)


class Wheel(Part, rename="camel"):
    tyre_size: int = 0
    spokes: list[str] = msgspec.field(default_factory=list[str])


class Vehicle(View):
    type: str = ""
    name: str = ""


class Bicycle(Vehicle):
    type: str = "bicycle"
    weight: Number = 0
    price: float = 0.0
    wheels: list[Wheel] = msgspec.field(default_factory=list[Wheel])
    front: Wheel | None = None
    by_name: dict[str, Wheel] = msgspec.field(default_factory=dict[str, Wheel])
    notes: Any = None
    load: msgspec.Raw = msgspec.Raw()


class Boat(Vehicle):
    type: str = "boat"
    length: int


class Lorry(Vehicle):
    always = frozenset({"axles", "wheels", "driver"})
    type: str = "lorry"
    axles: int = 0
    wheels: list[Wheel] = msgspec.field(default_factory=list[Wheel])
    driver: str | None = None
    trailer: str = ""


class Unknown(Vehicle):
    opaque: ClassVar[bool] = True
    problem: str = ""


VEHICLES: OpenUnion[Vehicle] = OpenUnion(
    "type", {"bicycle": Bicycle, "boat": Boat}, lambda name, problem: Unknown(type=name, problem=problem)
)


def test_a_view_keeps_its_bytes_and_shows_the_fields_it_has_no_name_for():
    raw = b'{"type": "bicycle", "name":"B", "bell":{"loud":true}, "gears":7}'
    view = read_view(Bicycle, raw)
    assert (view, view.raw, view.extra) == (Bicycle(name="B"), raw, {"bell": {"loud": True}, "gears": 7})


def test_the_bytes_of_a_view_are_not_a_field_and_go_with_it():
    raw = b'{"name":"B", "note":"' + b"x" * 1000 + b'"}'
    references = sys.getrefcount(raw)
    views = [read_view(Bicycle, raw) for _ in range(10)]
    assert all(view.raw is raw for view in views)
    assert "xxx" not in repr(views[0])
    del views
    assert sys.getrefcount(raw) == references


def test_unknown_fields_are_written_back_even_inside_parts():
    wire = {
        "type": "bicycle",
        "front": {"tyreSize": 28, "brand": "x"},
        "wheels": [{"tyreSize": 28, "hub": 1}, {"rim": None}],
        "by_name": {"rear": {"spokes": ["a"], "hub": 2}},
        "load": [{"bag": None}],
        "price": 3,
        "new": [],
    }
    view = read_view(Bicycle, json.dumps(wire).encode())
    assert (as_builtins(view), json.loads(as_json(view))) == (wire, wire)
    assert json.dumps(as_builtins(view)) == json.dumps(wire)


def test_changed_fields_are_written_and_the_rest_stays():
    view = read_view(
        Bicycle, b'{"name":"B","weight":9,"gears":7,"wheels":[{"tyreSize":28,"hub":1}],"by_name":{"a":{}}}'
    )
    view.name = "C"
    view.weight = 0
    view.wheels = [view.wheels[0], Wheel(tyre_size=26)]
    view.by_name = {"b": Wheel(tyre_size=20)}
    assert as_builtins(view) == {
        "name": "C",
        "weight": 0,
        "gears": 7,
        "wheels": [{"tyreSize": 28, "hub": 1}, {"tyreSize": 26}],
        "by_name": {"b": {"tyreSize": 20}},
    }


def test_a_list_or_a_part_put_where_there_was_none_is_written():
    view = read_view(Bicycle, b'{"wheels":null,"by_name":null,"front":null}')
    view.wheels, view.by_name, view.front = [Wheel(tyre_size=1)], {"a": Wheel(tyre_size=2)}, Wheel(tyre_size=3)
    assert as_builtins(view) == {
        "wheels": [{"tyreSize": 1}],
        "by_name": {"a": {"tyreSize": 2}},
        "front": {"tyreSize": 3},
    }


def test_a_view_built_by_hand_writes_its_type_and_what_is_not_the_default():
    view = Bicycle(name="B", wheels=[Wheel(tyre_size=28)])
    wire = {"type": "bicycle", "name": "B", "wheels": [{"tyreSize": 28}]}
    assert (as_builtins(view), json.loads(view.raw), view.extra) == (wire, wire, {})


def test_a_view_without_a_type_writes_none():
    assert as_builtins(Vehicle(name="x")) == {"name": "x"}


def test_fields_are_given_by_name_in_every_subclass():
    with pytest.raises(TypeError):
        Boat(12)  # pyright: ignore[reportCallIssue]
    with pytest.raises(TypeError):
        Wheel(28)  # pyright: ignore[reportCallIssue]


def test_null_means_absent_where_a_field_has_no_room_for_it_and_is_written_back_as_null():
    raw = (
        b'{"name":null,"weight":null,"wheels":[{"tyreSize":null,"spokes":null}],"front":{"tyreSize":null},'
        b'"by_name":{"rear":{"spokes":null}},"notes":{"a":null},"unknown":null,"load":{"a":null}}'
    )
    view = read_view(Bicycle, raw)
    assert view == Bicycle(
        wheels=[Wheel()],
        front=Wheel(),
        by_name={"rear": Wheel()},
        notes={"a": None},
        load=msgspec.Raw(b'{"a":null}'),
    )
    assert as_builtins(view) == json.loads(raw)


def test_text_cut_in_a_surrogate_pair_is_read_with_a_replacement_and_kept_as_it_came():
    raw = b'{"name":"a\\ud83d","notes":["\\udc00",{"\\ud800":1}],"load":["x\\ud83d"],"wheels":[]}'
    view = read_view(Bicycle, raw)
    assert (view.name, view.notes, read_json(bytes(view.load)), view.raw) == (
        "a\ufffd",
        ["\ufffd", {"\ufffd": 1}],
        ["x\ufffd"],
        raw,
    )


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        (b'"a\\ud800"', "a\ufffd"),
        (b'["\\ud800", "b", 1]', ["\ufffd", "b", 1]),
        (b'{"a":"\xff"}', {"a": "\ufffd"}),
        (b"[1, 2.5, null]", [1, 2.5, None]),
    ],
)
def test_any_json_can_be_read(raw: bytes, value: Any):
    assert read_json(raw) == value


@pytest.mark.parametrize("raw", [b"", b"{", b'{"a":NaN}', b"[Infinity]", b"nope"])
def test_invalid_json_is_refused(raw: bytes):
    with pytest.raises(ValueError, match=r"."):
        read_json(raw)


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        (b'{"name":5}', "Expected `str`, got `int` - at `$.name`"),
        (b'{"wheels":[{"tyreSize":"x"}]}', "Expected `int`, got `str` - at `$.wheels[0].tyreSize`"),
        (b'{"wheels":[null]}', "Expected `object`, got `null` - at `$.wheels[0]`"),
        (b"[]", "Expected `object`, got `array`"),
        (b"{", "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
    ],
)
def test_field_of_the_wrong_type_is_named(raw: bytes, problem: str):
    with pytest.raises(ViewError) as caught:
        read_view(Bicycle, raw)
    assert str(caught.value) == problem


def test_json_nested_too_deep_is_refused_and_not_a_crash():
    with pytest.raises(ViewError):
        read_view(Bicycle, b'{"notes":' + b"[" * 100_000 + b"]" * 100_000 + b"}")


def test_an_open_union_reads_by_its_tag():
    raw = b'{"length":9,"type":"boat"}'
    assert (VEHICLES.read(raw), VEHICLES.read_as("boat", b'{"length":9}')) == (Boat(length=9), Boat(length=9))
    assert list(VEHICLES) == [Bicycle, Boat]


@pytest.mark.parametrize(
    ("raw", "view"),
    [
        (b'{"type":"plane", "wings" :2}', Unknown(type="plane")),
        (b'{"wings":2}', Unknown()),
        (b'{"type":7}', Unknown()),
        (b"[1, 2]", Unknown()),
        (b'"text"', Unknown()),
        (b"{broken", Unknown()),
        (b'{"type":"boat"}', Unknown(type="boat", problem="Object missing required field `length`")),
        (b'{"type":"boat","length":"x"}', Unknown(type="boat", problem="Expected `int`, got `str` - at `$.length`")),
        (b'{"type":"car\\ud800"}', Unknown(type="car\ufffd")),
    ],
)
def test_unknown_member_of_an_open_union_keeps_its_bytes(raw: bytes, view: Unknown):
    read = VEHICLES.read(raw)
    assert (read, read.raw, as_json(read)) == (view, raw, raw)


def test_an_unknown_view_shows_its_fields_where_it_has_some():
    assert VEHICLES.read(b'{"type":"plane","wings":2}').extra == {"wings": 2}
    assert as_builtins(VEHICLES.read(b'{"type":"plane","wings":2}')) == {"type": "plane", "wings": 2}
    assert [VEHICLES.read(raw).extra for raw in (b"[1]", b"{broken")] == [{}, {}]


def test_an_open_union_nested_too_deep_is_unknown():
    raw = b"[" * 100_000 + b"]" * 100_000
    assert (VEHICLES.read(raw).raw, VEHICLES.read_list(raw)[0].raw) == (raw, raw)


@pytest.mark.parametrize(
    ("raw", "views"),
    [
        (b"", []),
        (b"null", []),
        (b"[]", []),
        (b'[{"type":"boat","length":1}, {"type":"plane"}, 5]', [Boat(length=1), Unknown(type="plane"), Unknown()]),
        (b'[{"type":"boat","length":1,"name":"\\ud800"}]', [Boat(length=1, name="\ufffd")]),
        (b'{"type":"boat","length":1}', [Boat(length=1)]),
        (b"{broken", [Unknown()]),
    ],
)
def test_a_list_of_an_open_union_is_read_whatever_it_is(raw: bytes, views: list[Vehicle]):
    assert VEHICLES.read_list(raw) == views


def test_an_integer_of_more_than_64_bits_is_read_and_written():
    wire = {"name": None, "notes": [2**70], "load": [2**80], "wheels": []}
    view = read_view(Bicycle, json.dumps(wire).encode())
    assert (view.notes, as_builtins(view), json.loads(as_json(view))) == ([2**70], wire, wire)


@pytest.mark.parametrize(
    ("raw", "text"), [(b'"a\\ud800"', "a\ufffd"), (b'"', None), (b'""', ""), (b"[]", None), (b"", None)]
)
def test_a_string_is_read_as_text_and_nothing_else_is(raw: bytes, text: str | None):
    assert read_text(raw) == text


def test_bytes_can_be_put_beside_a_view_built_by_hand():
    assert keep_raw(Boat(length=1), b'{"x":1}').raw == b'{"x":1}'


def test_fields_in_always_are_written_with_their_defaults():
    assert as_builtins(Lorry()) == {"type": "lorry", "axles": 0, "wheels": [], "driver": None}
    assert as_builtins(Lorry(axles=3, trailer="long")) == {
        "type": "lorry",
        "axles": 3,
        "wheels": [],
        "driver": None,
        "trailer": "long",
    }


def test_a_view_that_was_read_is_written_without_fields_it_did_not_have():
    assert as_builtins(read_view(Lorry, b'{"type":"lorry","axles":2}')) == {"type": "lorry", "axles": 2}


def test_a_default_that_was_changed_in_place_is_written():
    lorry = Lorry()
    lorry.wheels.append(Wheel(tyre_size=40))
    assert as_builtins(lorry)["wheels"] == [{"tyreSize": 40}]
    assert as_builtins(Lorry())["wheels"] == []


def test_a_part_is_written_by_itself():
    assert as_builtins(Wheel(tyre_size=28)) == {"tyreSize": 28}


def test_a_line_has_the_given_fields_and_those_of_always():
    line = build_line(Lorry, {"axles": 2, "trailer": ""})
    assert line == {"type": "lorry", "axles": 2, "wheels": [], "driver": None, "trailer": ""}
    assert read_view(Lorry, json.dumps(line).encode()) == Lorry(axles=2)


@pytest.mark.parametrize("build", [build_line, build_view])
def test_a_field_that_the_view_does_not_have_is_an_error(build: Any):
    with pytest.raises(TypeError, match="Lorry does not have sails, wings"):
        build(Lorry, {"axles": 2, "wings": 1, "sails": 2})


def test_a_view_is_built_from_names_on_the_wire():
    assert build_view(Lorry, {"wheels": [{"tyreSize": 3}]}) == Lorry(wheels=[Wheel(tyre_size=3)])
    with pytest.raises(ViewError, match="axles"):
        build_view(Lorry, {"axles": "many"})


def test_the_names_of_fields_are_those_on_the_wire():
    assert field_names(Wheel) == {"tyreSize", "spokes"}


class _Holder(View):
    held: Any = None


def test_raw_json_and_other_values_are_written_as_json():
    assert as_builtins(_Holder(held=msgspec.Raw(b'{"a":1}'))) == {"held": {"a": 1}}
    assert as_builtins(_Holder(held={"tags": frozenset({"x"}), "raw": [msgspec.Raw(b"2")]})) == {
        "held": {"tags": ["x"], "raw": [2]}
    }
