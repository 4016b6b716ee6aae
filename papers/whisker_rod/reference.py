"""Whisker as a system of differential equations, for stability analysis and to test the kernels.

This implementation uses dense matrices and SciPy's integrators. It is independent of the kernels, except for the
segments that both use, and far slower.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from scipy.linalg import eigh
from scipy.optimize import fsolve

from gymnosoma.envs.whisker_rod import WhiskerRod


class Reference:
    """Equations of motion of one whisker whose tip touches a flat plate, or moves in air.

    Source: Oladazimi, Putelat et al. (2021), Eqs 5-13, with the constraint of Eq. 12 differentiated to accelerations.

    Args:
        animal: Model of the whisker.
        row: Row of ``animal.rows`` with parameters, plate and base.
        speed (m/s): Speed of the plate along x.
        base_rate (rad/s): Rate of the base.
    """

    def __init__(self, animal: WhiskerRod, row: Any, speed: float = 0.0, base_rate: float = 0.0) -> None:
        self.h, self.m, self.jp, self.stiffness, self.viscosity, self.rest = animal.rods(np.array([row]))[0]
        self.p = {name: float(row[name]) for name, option in animal.parameters.items() if not option.shape}
        self.base, self.base_rate = float(row["base_angle"]), base_rate
        self.distance, self.speed = float(row["plate_distance"]), speed
        self._load = np.cumsum(self.m[::-1])[::-1]
        n = len(self.h)
        self._pairs = self._load[np.maximum(*np.indices((n, n)))] * np.outer(self.h, self.h)

    def mass(self, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mass matrix (n, n) of the angles, kg m^2."""
        return self._pairs * np.cos(theta[:, None] - theta) + np.diag(self.jp)

    def torque(self, theta: NDArray[np.float64], omega: NDArray[np.float64], t: float = 0.0) -> NDArray[np.float64]:
        """Return the generalised forces (n,) without contact, including centripetal ones, N m."""
        deflection = np.diff(theta, prepend=self.base + self.base_rate * t) - self.rest
        joint = self.stiffness * deflection + self.viscosity * np.diff(omega, prepend=self.base_rate)
        centripetal = self._pairs * np.sin(theta[:, None] - theta) @ omega**2
        drag = self.p["external_damping"] * self.mass(theta) @ omega
        return np.append(joint[1:], 0.0) - joint - centripetal - drag

    def friction(self, slip: Any, phi: Any) -> Any:
        """Return the friction coefficient, Eq. 13."""
        p = self.p
        gamma = 0.5 * np.exp(p["reference_friction"] / p["rate_strength"])
        state = phi ** (p["state_strength"] / p["rate_strength"])
        return p["rate_strength"] * np.arcsinh(gamma * slip / p["reference_speed"] * state)

    def acceleration(
        self, t: float, theta: NDArray[np.float64], omega: NDArray[np.float64], phi: float, touching: bool = True
    ) -> tuple[NDArray[Any], float, float]:
        """Return angular accelerations (n,) in rad/s^2, normal force in N and slip speed in m/s."""
        across = np.stack([-self.h * np.sin(theta), self.h * np.cos(theta)])  # Jacobian of the tip
        force = self.torque(theta, omega, t)
        slip = float(self.speed - across[0] @ omega)
        if not touching:
            return np.linalg.solve(self.mass(theta), force), 0.0, slip
        mu = self.friction(slip, phi)
        push = mu * across[0] - across[1]
        free, pushed = np.linalg.solve(self.mass(theta), np.stack([force, push], 1)).T
        inward = -self.h * np.sin(theta) @ omega**2
        normal = -(across[1] @ free + inward) / (across[1] @ pushed)
        return free + normal * pushed, float(normal), slip

    def rhs(self, t: float, z: NDArray[np.float64], touching: bool = True) -> NDArray[np.float64]:
        """Return the derivative of (theta, omega, phi)."""
        n = len(self.h)
        alpha, _, slip = self.acceleration(t, z[:n], z[n:-1], z[-1], touching)
        phi = (self.p["reference_speed"] - abs(slip) * z[-1]) / self.p["memory_length"] if touching else 0.0
        return np.concatenate([z[n:-1], alpha, [phi]])

    def integrate(self, row: Any, times: NDArray[np.float64], touching: bool = True, tolerance: float = 1e-7) -> Any:
        """Integrate from ``row`` by Radau IIA of order 5 (the paper's method); return (T, 2 n + 1) at ``times``."""
        start = np.concatenate([row["segment_angle"], row["segment_rate"], [row["friction_state"]]])
        n = len(self.h)
        scale = np.concatenate([np.full(n, 1e-2), np.full(n, 1.0), [1e-6]])
        run = solve_ivp(
            self.rhs,
            (times[0], times[-1]),
            start,
            method="Radau",
            t_eval=times,
            args=(touching,),
            rtol=tolerance,
            atol=tolerance * scale,
        )
        return run.y.T

    def modes(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the undamped natural frequencies (n,) in air, Hz, and the modes' angles (n, n) as columns."""
        to_joint = np.eye(len(self.h)) - np.eye(len(self.h), k=-1)
        stiffness = to_joint.T @ np.diag(self.stiffness) @ to_joint
        squares, shapes = eigh(stiffness, self.mass(self.base + np.cumsum(self.rest)))
        return np.sqrt(squares) / (2 * np.pi), shapes / shapes[-1]

    def sliding(self, row: Any) -> tuple[NDArray[np.float64], float]:
        """Return the angles (n,) and normal force of steady sliding near the angles of ``row``."""
        phi = self.p["reference_speed"] / self.speed
        mu = self.friction(self.speed, phi)
        n = len(self.h)

        def residual(z: NDArray[np.float64]) -> NDArray[np.float64]:
            theta, normal = z[:n], z[n] * 1e-6
            push = -mu * self.h * np.sin(theta) - self.h * np.cos(theta)
            balance = (self.torque(theta, np.zeros(n)) + normal * push) / self.stiffness[-1]
            return np.append(balance, (self.h @ np.sin(theta) - self.distance) / self.h[-1])

        z, _, status, message = fsolve(residual, np.append(row["segment_angle"], 0.8), full_output=True, xtol=1e-12)
        if status != 1 and np.abs(residual(z)).max() > 1e-6:
            raise RuntimeError(f"no steady sliding found: {message}")
        return z[:n], z[n] * 1e-6

    def growth(self, row: Any) -> NDArray[Any]:
        """Return the eigenvalues (1/s) of small motions about steady sliding, by frequency, one of each conjugate pair.

        A mode with a positive real part grows at this rate into stick-slip.
        """
        theta, _ = self.sliding(row)
        n = len(self.h)
        z = np.concatenate([theta, np.zeros(n), [self.p["reference_speed"] / self.speed]])
        step = np.concatenate([np.full(n, 1e-6), np.full(n, 1e-2), [1e-4 * z[-1]]])
        jacobian = np.empty((2 * n + 1, 2 * n + 1))
        for j, d in enumerate(step):
            e = np.zeros(2 * n + 1)
            e[j] = d
            jacobian[:, j] = (self.rhs(0.0, z + e) - self.rhs(0.0, z - e)) / (2 * d)
        values = np.linalg.eigvals(jacobian)
        # The differentiated constraint adds a pair of zeros; the remaining values belong to the friction state.
        values = values[(values.imag > 100.0) & (values.real > -values.imag)]
        return values[np.argsort(values.imag)]
