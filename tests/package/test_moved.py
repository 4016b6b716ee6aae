"""Names that moved: every error says the new place in one line, and every new place exists."""

import importlib
import inspect
import re
import subprocess
import sys
from types import ModuleType

import gymnasium
import pytest

import gymnosoma
from gymnosoma.cli.main import COMMANDS
from gymnosoma.envs.core.env.task import Ending
from gymnosoma.envs.worm.tasks import WormTask
from gymnosoma.moved import MOVED
from tools.surface import PUBLIC, public_names

PLACES = {name: place for names in MOVED.values() for name, place in names.items()}
WORDS = {name: place for name, place in PLACES.items() if name.startswith("gymnosoma ")}
PYTHON = {name: place for name, place in PLACES.items() if name.startswith("gymnosoma.")}
MEMBERS = {name: place for name, place in PLACES.items() if name[0].isupper()}
CLASSES = {name: getattr(importlib.import_module(module), name) for module in PUBLIC for name in public_names(module)}


def found(path):
    """What a dotted path names; the longest part that is a module is imported."""
    module, _, rest = path, "", []
    while True:
        try:
            value = importlib.import_module(module)
            break
        except ModuleNotFoundError:
            module, _, last = module.rpartition(".")
            rest.insert(0, last)
    for name in rest:
        value = getattr(value, name)
    return value


def is_module(name):
    """Whether a name was that of a module."""
    new, *_ = PYTHON[name].removeprefix("now ").split(" and ")
    return name.endswith((".tuning", ".distributions")) or ("gone" not in new and isinstance(found(new), ModuleType))


@pytest.mark.parametrize("name", PYTHON)
def test_an_import_of_a_moved_name_says_where_it_is(name):
    package, _, last = name.rpartition(".")
    codes = [f"from {package} import {last}"]
    codes += [f"import {name}", f"from {name} import anything"] if is_module(name) else []
    for code in codes:
        with pytest.raises(ImportError) as caught:
            exec(code)
        assert str(caught.value) == f"{name} is {PYTHON[name]}"


@pytest.mark.parametrize("name", [name for name in PYTHON if not is_module(name)])
def test_an_attribute_of_a_module_that_moved_says_where_it_is(name):
    package, _, last = name.rpartition(".")
    module = importlib.import_module(package)
    with pytest.raises(AttributeError if hasattr(module, "__path__") else ImportError) as caught:
        getattr(module, last)
    assert str(caught.value) == f"{name} is {PYTHON[name]}"


@pytest.mark.parametrize("name", MEMBERS)
def test_an_attribute_that_moved_says_where_it_is(name):
    owner, _, last = name.partition(".")
    with pytest.raises(AttributeError) as caught:
        getattr(CLASSES[owner], last)
    assert str(caught.value) == f"{name} is {MEMBERS[name]}"
    assert not hasattr(CLASSES[owner], last)


def test_an_environment_and_an_animal_say_where_their_attributes_are():
    env = gymnasium.make("gymnosoma/WormSwim-v0").unwrapped
    with pytest.raises(AttributeError, match=r"^BodyEnv.simulation is now BodyEnv.batch$"):
        env.simulation  # noqa: B018
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        env.nothing  # noqa: B018
    with pytest.raises(AttributeError, match=r"^module 'gymnosoma.envs.worm' has no attribute 'nothing'$"):
        gymnosoma.envs.worm.nothing  # noqa: B018


def test_a_task_with_a_table_of_the_old_name_is_refused():
    with pytest.raises(AttributeError, match=r"^Task.observes is now Task.observation_fields$"):
        type("Old", (WormTask,), {"observes": {}, "endings": {2.0: Ending("x")}})


@pytest.mark.parametrize("name", WORDS)
def test_a_command_that_moved_says_where_it_is(name, command, error_of):
    _, first, *options = name.split()
    for more in ([], ["=x"]):
        words = [first, *(option + "".join(more) for option in options)]
        assert error_of(*words) == f"error: {name} is {WORDS[name]}"
    with pytest.raises(SystemExit) as end:
        command(first, *options)
    assert end.value.code == 2


@pytest.mark.parametrize("name", [name for name, place in PLACES.items() if place.startswith("now ")])
def test_the_new_place_exists(name):
    new = PLACES[name].removeprefix("now ")
    if name in WORDS:
        words = new.removeprefix("gymnosoma ").split()
        assert words[0] in COMMANDS
    elif name in MEMBERS:
        owner, _, last = new.partition(".")
        kind = CLASSES[owner]
        assert any(last in vars(base) or last in inspect.get_annotations(base) for base in kind.__mro__)
    else:
        for each in new.split(" and "):
            assert found(each) is not None


def test_names_that_are_gone_have_advice():
    for place in PLACES.values():
        assert re.match(r"now [\w.]+(?: and [\w.]+)?$|now gymnosoma [\w -]+$|gone(?: from the package)?: .+", place)


def test_places_are_kept_for_one_minor_version():
    major, minor, *_ = map(int, re.findall(r"\d+", gymnosoma.__version__))
    for version in MOVED:
        first, second = map(int, version.split("."))
        assert (first, second) <= (major, minor) and (major, minor) <= (first, second + 1), version


def test_libraries_are_left_alone():
    """A missing module of another package, or of this one, has Python's own error."""
    for name in ("gymnosoma.nothing", "nothing_at_all"):
        with pytest.raises(ModuleNotFoundError, match=f"No module named '{name}'"):
            importlib.import_module(name)
    code = "import gymnosoma.moved as m, sys; assert sum(f is m._Finder for f in sys.meta_path) == 1"
    subprocess.run([sys.executable, "-c", code], check=True)
