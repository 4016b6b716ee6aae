"""An animal in the hands of a person, with the keyboard."""

import gymnasium
import numpy as np
import pygame
import pytest
from ids import IDS

from gymnosoma.films.game import Game

SMALL = {"width": 320, "height": 180}


@pytest.fixture
def play(monkeypatch):
    """Begin a game; it is given with the simulation that it plays, and is closed in the end."""
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    games, made, make = [], [], gymnasium.make
    monkeypatch.setattr(gymnasium, "make", lambda *given, **named: made.append(make(*given, **named)) or made[-1])

    def begin(env_id):
        games.append(Game(env_id, **SMALL))
        return games[-1], made[-1].unwrapped.batch

    yield begin
    for game in games:
        game.close()
    pygame.display.quit()


def keys(kind, names):
    for name in names:
        pygame.event.post(pygame.event.Event(kind, key=pygame.key.key_code(name)))


def turns(game, count, *names):
    """Take turns of a game with some keys held, which are up again in the turn after."""
    keys(pygame.KEYDOWN, names)
    for _ in range(count):
        game.turn()
    if game.running:
        keys(pygame.KEYUP, names)


def test_person_steers(play):
    game, simulation = play("gymnosoma/WormCrawl-v0")
    steering = game.steering
    game.turn()
    turns(game, 4, "right", "up")
    assert steering.bias > 0.04 and steering.frequency > 1 / 1.6
    turns(game, 5, "m")
    assert steering.bias == 0.0
    frequency = steering.frequency
    turns(game, 0, "up")  # a tap, shorter than a turn
    game.turn()
    assert steering.frequency > frequency
    assert simulation.rows["friction_perpendicular"][0] == pytest.approx(0.00128)  # agar / 100
    time = simulation.rows["time"][0]
    assert time == pytest.approx(11 / steering.control_rate)
    turns(game, 1, "space")
    assert game.paused and simulation.rows["time"][0] == time
    turns(game, 1, "space", "t", "h", "b", "r")
    assert simulation.rows["time"][0] == pytest.approx(1 / steering.control_rate)
    turns(game, 1, "escape")
    assert not game.running


def test_end_of_the_episode_waits_for_the_person(play):
    game, simulation = play("gymnosoma/WormReach-v0")
    simulation.memory["target"] = game.task.animal.points(simulation.rows)[:, 0]
    turns(game, 3)
    assert simulation.rows["time"][0] == pytest.approx(1 / game.steering.control_rate)
    turns(game, 1, "r")
    pygame.event.post(pygame.event.Event(pygame.QUIT))
    game.turn()
    assert not game.running


@pytest.mark.parametrize("env_id", IDS)
def test_person_steers_every_animal_that_can_be_steered(env_id, play):
    try:
        game, simulation = play(env_id)
    except ValueError as refused:
        assert "can be steered by hand, got" in str(refused)
        return
    turns(game, 2)
    assert game.running and simulation.rows["time"][0] == pytest.approx(2 / game.steering.control_rate)


def test_person_turns_the_base(play):
    game, simulation = play("gymnosoma/WhiskerLocalize-v0")
    steering, row = game.steering, simulation.rows[0]
    for names, angle, distance in ((("up", "right", "w"), 1, 1), (("down", "s"), -1, -1)):
        before, answered = row["link_angle"][0], steering.answers["place"]
        turns(game, 10, *names)
        assert np.sign(row["link_angle"][0] - before) == angle
        assert np.sign(simulation.memory["answer"][0, 0] - answered) == distance
    assert steering.speed > 2.0
    turns(game, 3)
    assert abs(row["base_rate"]) < 1e-6  # the command is rounded to float32
