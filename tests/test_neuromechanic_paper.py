"""Illustrations 1 and 2 of Bunderson et al. (2012): stability of a cat's hindlimb, and the shortcut of Eq. 23.

The paper states neither boundary condition, sampler nor the muscles' curves. Here the paw is gimballed, gravity acts,
the posture is the mean of three cats, and the sampler has forgotten its start: chains that have not differ among each
other by as much as the paper differs from us.
"""

import numpy as np
import pytest

from gymnosoma.agents.controllers.neuromechanic import _most_stable as task_pattern
from gymnosoma.envs.neuromechanic import Neuromechanic
from gymnosoma.envs.neuromechanic import muscles as hill
from gymnosoma.envs.neuromechanic.analysis import (
    central_pattern,
    equilibrate,
    growth,
    linearise,
    most_stable,
    sample_patterns,
    shortcut,
    stable,
)
from gymnosoma.envs.neuromechanic.hindlimb import PAW_FORCE, POSTURE, SLOW, asset, hindlimb
from gymnosoma.envs.neuromechanic.tasks import HindlimbHold

pytestmark = [pytest.mark.paper, pytest.mark.full]

STIFFNESS = (3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 8.0)
START = {"q": POSTURE}


@pytest.fixture(scope="module")
def limbs():
    """Limb and shortcut by stiffness."""
    made = {kappa: Neuromechanic(hindlimb(kappa)) for kappa in STIFFNESS}
    return {kappa: (animal, shortcut(animal, START)) for kappa, animal in made.items()}


@pytest.fixture(scope="module")
def patterns(limbs):
    """10,000 patterns that give the paw force, by its size in N."""
    animal = limbs[4.0][0]
    return {
        size: sample_patterns(animal, POSTURE, 10_000, reaction=PAW_FORCE * size / 8.5, thin=300, seed=1)
        for size in (5.0, 8.5, 12.0)
    }


def share(limbs, patterns, kappa):
    return float(stable(limbs[kappa][1].matrix(patterns)).mean())


def test_the_limb_is_the_papers():
    """Section 3.1: seven degrees of freedom, 31 muscles; section 3.2: a null space of 24 dimensions."""
    animal = Neuromechanic(hindlimb())
    k = animal.mechanics(animal.rows(1))
    assert len(animal.model.bodies) == 7
    assert len(animal.model.muscles) == 31
    assert 31 - np.linalg.matrix_rank(k["arm"].T) == 24
    assert 7 - np.linalg.matrix_rank(k["J"]) == 4
    assert hill.force_length(hill.DE_GROOTE, 0.95) == pytest.approx(
        asset("hindlimb")["muscle"]["ta"]["model"]["force_length"], abs=5e-5
    )


def test_patterns_give_the_same_paw_force(limbs, patterns):
    """Section 3.1: many patterns of activation, each of which produces the wanted force in the wanted posture."""
    animal = limbs[4.0][0]
    row = animal.rows(1)
    for pattern in patterns[8.5][:50]:
        animal.reset(row, np.zeros(1, np.int64), START | {"activation": pattern})
        k = animal.mechanics(row)
        assert np.abs(k["qdd"]).max() < 1e-6
        assert np.abs(k["reaction"] - PAW_FORCE).max() < 1e-9


def test_stable_share_rises_with_stiffness_fig_2b(limbs):
    """Fig. 2b. The numbers are those of an independent program in NumPy, one chain of 300 moves a pattern.

    Such chains of 10,000 deviate by up to 0.026 (twelve, on two CPUs, whose LAPACKs give other vectors to walk along);
    so these take ten times the moves, and their mean is compared. At 3 the paper has 0.35.
    """
    animal = limbs[4.0][0]
    chains = [sample_patterns(animal, POSTURE, 10_000, reaction=PAW_FORCE, thin=3000, seed=seed) for seed in (1, 2, 3)]
    shares = np.mean([[share(limbs, chain, kappa) for kappa in STIFFNESS] for chain in chains], 0)
    assert np.abs(shares - [0.016, 0.085, 0.227, 0.406, 0.573, 0.812, 0.971]).max() < 0.015
    assert (np.diff(shares) > 0).all()


def test_the_pattern_that_is_kept_is_as_stable_as_what_is_found():
    """It holds the posture, and decays as fast as the best of a search on any machine, within a tenth."""
    task = HindlimbHold()
    kept = task_pattern(task)
    short = shortcut(task.animal, START)
    row = task.animal.rows(1)
    task.animal.reset(row, np.zeros(1, np.int64), START | {"activation": kept})
    k = task.animal.mechanics(row)
    assert np.abs(k["qdd"]).max() < 1e-6 and np.abs(k["reaction"] - PAW_FORCE).max() < 1e-9
    found = most_stable(task.animal, POSTURE, reaction=PAW_FORCE)
    assert growth(short.matrix(kept)) == pytest.approx(growth(short.matrix(found)), rel=0.1)
    stiffer = HindlimbHold(stiffness=6.0)
    assert np.abs(task_pattern(stiffer) - kept).max() > 0.01


def test_35_per_cent_are_stable_at_a_stiffness_of_a_few_fig_2a(limbs, patterns):
    """Fig. 2a: 35% at a stiffness of 3. The force decides where: ours are below 3, 4.3 and 6.1 at 5, 8.5 and 12 N."""
    shares = {size: [share(limbs, patterns[size], kappa) for kappa in STIFFNESS] for size in patterns}
    assert shares[5.0][0] == pytest.approx(0.56, abs=0.03)
    assert np.interp(0.35, shares[8.5], STIFFNESS) == pytest.approx(4.3, abs=0.1)
    assert np.interp(0.35, shares[12.0], STIFFNESS) == pytest.approx(6.1, abs=0.1)


def test_the_doubling_time_asks_for_a_viscosity_fig_2a(patterns):
    """Fig. 2a: even the most unstable doubles in more than 200 ms. At 0.1 Fmax s/lopt ours double in 20 to 30 ms.

    Which patterns are stable does not depend on it.
    """
    rates = {}
    for viscosity in (0.1, 2.0, SLOW):
        animal = Neuromechanic(hindlimb(3.0, viscosity=viscosity))
        rates[viscosity] = growth(shortcut(animal, START).matrix(patterns[8.5]))
        assert ((rates[viscosity] < -1e-6) == (rates[0.1] < -1e-6)).all()
    times = {viscosity: np.log(2.0) / values.max() for viscosity, values in rates.items()}
    assert 0.02 < times[0.1] < 0.03
    assert 0.1 < times[2.0] < 0.2 < times[SLOW]


def test_least_effort_is_not_stable_but_some_pattern_is(limbs):
    """Section 3.1: stability selects among patterns; those of little co-contraction need other means."""
    animal, short = limbs[4.0]
    for cost in (np.ones(31), None):
        found = equilibrate(animal, POSTURE, cost=cost, reaction=PAW_FORCE)
        assert not stable(short.matrix(found.activation))
    best = most_stable(animal, POSTURE, reaction=PAW_FORCE, count=300, rounds=5)
    assert stable(linearise(animal, START | {"activation": best, "input": best}))


def test_error_of_the_shortcut(limbs, patterns):
    """Section 3.2: over 200 patterns the rms error is 2.2e-6 +- 0.7e-6 %; ours is 1.4e-8 %, of central differences."""
    animal, short = limbs[4.0]
    errors = []
    for pattern in patterns[8.5][::50]:
        direct = linearise(animal, START | {"activation": pattern})[:14, :14]
        gap = short.matrix(pattern) - direct
        errors.append(100.0 * np.sqrt(np.mean(gap**2) / np.mean(direct**2)))
    assert len(errors) == 200
    assert np.mean(errors) < 1e-7


def test_the_shortcut_loses_no_eigenvalue(limbs):
    """Activations that follow their excitations only add eigenvalues of their own, all stable."""
    animal, short = limbs[6.0]
    pattern = central_pattern(animal, POSTURE, reaction=PAW_FORCE)
    whole = np.linalg.eigvals(linearise(animal, START | {"activation": pattern, "input": pattern}))
    part = np.linalg.eigvals(short.matrix(pattern))
    rest = list(whole)
    for value in part:
        nearest = int(np.argmin(np.abs(np.array(rest) - value)))
        # The pins' own pairs, at their rate of 200 /s, are double: differences move them by the root of their error.
        allowed = 1.0 if abs(value + 200.0) < 2.0 else 1e-3 * max(abs(value), 1.0)
        assert abs(rest.pop(nearest) - value) < allowed
    assert len(rest) == 31
    assert max(value.real for value in rest) < -10.0
