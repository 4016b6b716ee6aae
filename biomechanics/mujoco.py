"""Import of MuJoCo models as descriptions for `envs.neuromechanic.load`, with a report on each part.

The importer reads the compiled model, so that MuJoCo resolves defaults, includes, meshes and the order of Euler angles.
Joint positions are relative to the initial posture ``qpos0``.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gymnosoma.envs.core.files import SECONDS, check_file
from gymnosoma.envs.neuromechanic import HIGHEST, LARGEST, MUJOCO_CURVES

from .importer import LARGEST_FILE, Importer, Place, Report

Vector = NDArray[np.float64]

COMPILER_MEMORY = 1 << 32
"""Largest memory of MuJoCo's compiler, bytes."""

_COMPILE = """import resource, sys, mujoco
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[3]),) * 2)
mujoco.mj_saveModel(mujoco.MjModel.from_xml_path(sys.argv[1]), sys.argv[2])"""

_KINDS = "free", "ball", "prismatic", "revolute"
"""Joint types in the order of MuJoCo's ``mjtJoint``."""


def _turn(quaternion: Any) -> Vector:
    """Return the rotation matrix of a quaternion (w, x, y, z)."""
    from scipy.spatial.transform import Rotation

    w, x, y, z = quaternion
    return np.array(Rotation.from_quat([x, y, z, w]).as_matrix())


_ACTUATOR = """
acc0 actadr actnum biasprm biastype cranklength ctrladr ctrlnum ctrlspec dynprm dyntype gainprm gaintype gear group
history historyadr length0 lengthrange outadr outnum plugin trnid trntype user ctrllimited actlimited
"""
"""Fields of actuators that are used, have no effect in MuJoCo either, or follow from others."""


class _MujocoImporter(Importer):
    """Builder of the description of one model, for `read_mujoco`."""

    def __init__(self, source: Any, m: Any, mujoco: Any) -> None:
        super().__init__(source, m.opt.gravity)
        self.tables |= {"body": self.body, "frame": {}, "curve": self.curve, "cylinder": {}, "muscle": {}, "motor": {}}
        self.m, self.kinds = m, mujoco.mjtObj
        self.find = lambda kind, i: mujoco.mj_id2name(m, kind, i)
        self.places = [Place("ground", np.eye(3), np.zeros(3))]
        self.leads = {i: (i, np.poly1d([1.0, 0.0])) for i in range(m.njnt)}

    def object_name(self, kind: Any, i: int, what: str) -> str:
        """Return the name of an object in the description."""
        return self.name(self.find(kind, i) or f"{what}{i}", what, i)

    def joint_name(self, j: int) -> str:
        """Return the name of a joint, which is also the name of its body."""
        return self.object_name(self.kinds.mjOBJ_JOINT, j, "joint")

    # Coupled joints

    def couple(self) -> None:
        """Find the joints that follow another joint by a polynomial."""
        m, leaders = self.m, {}
        for e in range(m.neq):
            what = self.find(self.kinds.mjOBJ_EQUALITY, e) or f"{e}"
            if not m.eq_active0[e]:
                self.report.ignored.append(f"equality {what}, which is not active")
            elif m.eq_type[e] != 2:
                kind = ("CONNECT", "WELD", "JOINT", "TENDON", "FLEX", "DISTANCE")[min(int(m.eq_type[e]), 5)]
                self.report.refused.append(f"equality {what}: {kind} is not supported; supported is JOINT")
            elif m.jnt_type[m.eq_obj1id[e]] < 2 or m.eq_obj1id[e] in leaders:
                self.report.refused.append(f"equality {what}: joint1 must be a hinge or slide of no other equality")
            else:
                leaders[int(m.eq_obj1id[e])] = int(m.eq_obj2id[e]), np.poly1d(m.eq_data[e, 4::-1])
        for j in leaders:
            leader, f, chain = j, np.poly1d([1.0, 0.0]), [j]
            while leader in leaders:
                leader, inner = leaders[leader]
                f = f(inner)
                if leader in chain:
                    self.report.refused.append(f"joint {self.joint_name(j)}: it follows itself")
                    return
                chain.append(leader)
            if f.order > HIGHEST:
                what = f"its polynomial has order {f.order}, above {HIGHEST}"
                self.report.refused.append(f"joint {self.joint_name(j)}: {what}")
                continue
            self.leads[j] = leader, f

    # Bodies

    def bodies(self) -> None:
        """Convert all bodies and joints; in MuJoCo, parents precede their children."""
        m = self.m
        for b in range(1, m.nbody):
            place = self.places[m.body_parentid[b]]
            R, p, body = place.R @ _turn(m.body_quat[b]), place.R @ m.body_pos[b] + place.p, place.body
            for j in range(m.body_jntadr[b], m.body_jntadr[b] + m.body_jntnum[b]):
                kind, own = _KINDS[m.jnt_type[j]], self.joint_name(j)
                at = p if kind == "free" else R @ m.jnt_pos[j] + p
                joint: dict[str, Any] = {"type": kind, "at": at.tolist()}
                if kind in ("revolute", "prismatic"):
                    joint |= {"axis": (R @ m.jnt_axis[j]).tolist()} | self.joint(j)
                elif kind == "ball":
                    joint["damping"] = float(m.dof_damping[m.jnt_dofadr[j]])
                self.add_body(own, body, joint)
                body, p = own, p - at
            self.places.append(Place(body, R, p))
            label = self.find(self.kinds.mjOBJ_BODY, b) or f"body{b}"
            self.tables["frame"][self.name(label, "joint", ("body", b))] = self.places[-1].frame()
            parts = (float(m.body_mass[b]), R @ m.body_ipos[b] + p, R @ _turn(m.body_iquat[b]))
            if body != "ground" and parts[0] > 0.0:
                inertia = parts[2] @ np.diag(m.body_inertia[b]) @ parts[2].T
                self.masses.setdefault(body, []).append((*parts[:2], inertia))
        self.add_masses()

    def joint(self, j: int) -> dict[str, Any]:
        """Return the keys of a hinge or slide."""
        m, (leader, f) = self.m, self.leads[j]
        dof, own = m.jnt_dofadr[j], self.joint_name(j)
        if leader != j:
            if max(m.dof_damping[dof], m.dof_armature[dof], m.jnt_stiffness[j]) > 0.0:
                self.report.ignored.append(f"damping, armature and spring of joint {own}, which follows another joint")
            if leader < 0:
                return {"fixed": float(f(0.0))}
            entry: dict[str, Any] = {"follows": self.joint_name(leader)}
            if f.order <= 1:
                return entry | {"gain": float(f[1]), "offset": float(f[0])}
            self.curve[own] = {"kind": "polynomial", "coefficients": f.coeffs.tolist()}
            return entry | {"by": own}
        start = float(m.qpos0[m.jnt_qposadr[j]])
        if start != 0.0:
            self.report.renamed.append(f"position {start:g} of {own} to 0")
        entry = {"damping": float(m.dof_damping[dof]), "armature": float(m.dof_armature[dof])}
        if m.jnt_stiffness[j] > 0.0:
            rest = float(m.qpos_spring[m.jnt_qposadr[j]]) - start
            entry |= {"stiffness": float(m.jnt_stiffness[j]), "rest": rest}
        if m.jnt_limited[j]:
            low, high = np.clip(m.jnt_range[j] - start, -LARGEST, LARGEST)
            entry["range"] = [float(low), float(high)]
            if not low <= 0.0 <= high:
                entry["start"] = float(min(max(0.0, low), high))
        if m.dof_frictionloss[dof] > 0.0:
            self.report.ignored.append(f"friction of joint {own}")
        return entry

    # Muscles and motors

    def actuators(self) -> None:
        """Convert actuators on tendons to muscles and actuators on joints to motors."""
        m = self.m
        for a in range(m.nu):
            own = self.object_name(self.kinds.mjOBJ_ACTUATOR, a, "actuator")
            for field in [
                each for each in dir(m) if each.startswith("actuator_") and each[9:] not in _ACTUATOR.split()
            ]:
                value = np.ravel(getattr(m, field)[a])
                if value.any() and not (field[-5:] == "range" and np.array_equal(value, [0.0, 1.0])):
                    self.report.ignored.append(f"{field[9:]} of actuator {own}: {' '.join(f'{x:g}' for x in value)}")
            self.attempt(f"actuator {own}", self.actuator, a, own)

    def actuator(self, a: int, own: str) -> None:
        """Convert a muscle or a motor."""
        m = self.m
        if m.actuator_forcelimited[a]:
            raise ValueError("limits of the force (forcerange) are not supported")
        if m.actuator_trntype[a] == 3 and m.actuator_gaintype[a] == 2:
            model = self.pull(a, own)
            self.add_muscle(own, {"path": list(self.path(int(m.actuator_trnid[a, 0])))}, model)
            self.report.taken.append(f"muscle {own}")
        elif m.actuator_trntype[a] == 0 and m.actuator_gaintype[a] == 0 and m.actuator_biastype[a] == 0:
            j = int(m.actuator_trnid[a, 0])
            if m.jnt_type[j] < 2 or self.leads[j][0] != j or m.actuator_dyntype[a] != 0:
                raise ValueError(
                    "it must have no activation dynamics, and its joint must be an independent hinge or slide"
                )
            self.add_motor(own, self.joint_name(j), float(m.actuator_gainprm[a, 0] * m.actuator_gear[a, 0]))
            self.report.taken.append(f"motor {own}")
        else:
            raise ValueError("supported are muscles on tendons, and motors on joints")

    def pull(self, a: int, own: str) -> dict[str, Any]:
        """Return the keys of a muscle's model; the length range of its tendon determines optimal and slack length."""
        m = self.m
        low, high, force, scale, lmin, lmax, vmax, fpmax, fvmax = map(float, m.actuator_gainprm[a, :9])
        shortest, longest = m.actuator_lengthrange[a]
        if m.actuator_gear[a, 0] != 1.0 or m.actuator_dyntype[a] != 4 or m.actuator_biastype[a] != 2:
            raise ValueError("a muscle must have dyntype and biastype muscle, and a gear of 1")
        if not np.array_equal(m.actuator_biasprm[a, :9], m.actuator_gainprm[a, :9]):
            raise ValueError("its biasprm must be equal to its gainprm")
        if not longest > shortest:
            raise ValueError("its lengthrange must be computed or given, and not empty")
        if m.actuator_dynprm[a, 2] > 0.0:
            self.report.ignored.append(f"tausmooth of actuator {own}: {m.actuator_dynprm[a, 2]:g}")
        optimal = float(longest - shortest) / (high - low)
        shape = dict(zip((name for name, _, _ in MUJOCO_CURVES), (lmin, lmax, fvmax, fpmax), strict=True))
        return {
            "type": "rigid_tendon",
            "curves": "mujoco",
            "max_force": force if force >= 0.0 else scale / max(float(m.actuator_acc0[a]), 1e-15),
            "optimal_length": optimal,
            "slack_length": float(shortest) - low * optimal,
            "max_velocity": vmax,
            "activation": {
                "type": "switched",
                "rise": float(m.actuator_dynprm[a, 0]),
                "fall": float(m.actuator_dynprm[a, 1]),
            },
            **shape,
        }

    def path(self, tendon: int) -> Iterator[Any]:
        """Yield the points, wrapping surfaces and pulleys of a tendon."""
        m = self.m
        for w in range(m.tendon_adr[tendon], m.tendon_adr[tendon] + m.tendon_num[tendon]):
            kind, i, more = int(m.wrap_type[w]), int(m.wrap_objid[w]), float(m.wrap_prm[w])
            if kind == 2:
                yield {"pulley": more}
            elif kind == 3:
                yield self.places[m.site_bodyid[i]].point(m.site_pos[i])
            elif kind in (4, 5):
                yield {"cylinder": self.wrap(i, int(more), kind == 4)}
            else:
                raise ValueError("its tendon must be spatial, not made of joints")

    def wrap(self, g: int, site: int, sphere: bool) -> str:
        """Return the name of the surface of a geom and a side site (-1 for none), creating it if necessary."""
        m, own = self.m, self.object_name(self.kinds.mjOBJ_GEOM, g, "geom")
        place = self.places[m.geom_bodyid[g]]
        turn = _turn(m.geom_quat[g])
        at, R = place.R @ m.geom_pos[g] + place.p, place.R @ turn
        entry: dict[str, Any] = {"body": place.body, "at": at.tolist(), "radius": float(m.geom_size[g, 0])}
        entry |= {"type": "sphere"} if sphere else {"axis": R[:, 2].tolist(), "side": "any"}
        if site >= 0:
            if m.site_bodyid[site] != m.geom_bodyid[g]:
                raise ValueError(f"the side of {own} must be a site on the body of the geom")
            side = turn.T @ (m.site_pos[site] - m.geom_pos[g])
            if np.linalg.norm(side) < entry["radius"]:
                entry["side"] = "inside"
            else:
                side[2] *= sphere
                entry["side"] = (R @ (side / np.linalg.norm(side) if side.any() else np.eye(3)[0])).tolist()
                entry |= {} if sphere else {"rule": "mujoco"}
            own = f"{own}_{self.object_name(self.kinds.mjOBJ_SITE, site, 'site')}"
        self.tables["cylinder"].setdefault(own, entry)
        return own

    def rest(self) -> None:
        """Report the parts that are not converted."""
        m, pulling = self.m, {int(t) for t in self.m.actuator_trnid[self.m.actuator_trntype == 3, 0]}
        for t in range(m.ntendon):
            own = self.find(self.kinds.mjOBJ_TENDON, t) or f"{t}"
            if np.any(m.tendon_stiffness[t] > 0.0) or np.any(m.tendon_damping[t] > 0.0):
                self.report.refused.append(f"tendon {own}: stiffness and damping of a tendon are not supported")
            elif m.tendon_limited[t]:
                self.report.ignored.append(f"limits of the length of tendon {own}")
            elif t not in pulling:
                self.report.ignored.append(f"tendon {own}, which has no actuator")
        touching = int(np.sum((m.geom_contype > 0) | (m.geom_conaffinity > 0)))
        if touching:
            self.report.ignored.append(f"contact of {touching} geoms")
        if limited := int(np.sum(m.jnt_limited)):
            self.report.ignored.append(f"limits of {limited} joints (their ranges are imported)")
        for what, count in (("sensors", m.nsensor), ("keyframes", m.nkey)):
            if count:
                self.report.ignored.append(f"{what}: {count}")


def _compile(path: Path, load: Callable[[str], Any]) -> Any:
    """Compile a model in a child process, because some files make MuJoCo hang, crash or use all memory."""
    check_file(path, LARGEST_FILE)
    with TemporaryDirectory() as folder:
        command = [sys.executable, "-c", _COMPILE, str(path), f"{folder}/model.mjb", str(COMPILER_MEMORY)]
        try:
            child = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            raise ValueError(f"it takes more than {SECONDS} s") from None
        if child.returncode:
            raise ValueError(" ".join(child.stderr.split("Error: ", 1)[-1].split())[-300:] or "MuJoCo crashes")
        return load(f"{folder}/model.mjb")


def read_mujoco(source: Any, partial: bool = False) -> tuple[dict[str, Any], Report]:
    """Read a MuJoCo model.

    Args:
        source (mujoco.MjModel, or path): Compiled model, or a ``.xml`` file.
        partial: Whether to leave out unsupported parts instead of raising an error.

    Returns:
        description, report: Dict for `envs.neuromechanic.load`, and a report on each part.

    Raises:
        ValueError: If the package ``mujoco`` is missing, the file cannot be compiled, or the model has unsupported
            parts. The message names all of them.
    """
    try:
        import mujoco
    except ImportError:
        raise ValueError(f"model {str(source)!r} needs the package mujoco: pip install mujoco") from None
    compiled = source
    if not isinstance(source, mujoco.MjModel):
        try:
            compiled = _compile(Path(source), mujoco.MjModel.from_binary_path)
        except (OSError, ValueError, mujoco.FatalError) as error:
            raise ValueError(f"model {str(source)!r} cannot be compiled by MuJoCo: {error}") from None
    importer = _MujocoImporter(source, compiled, mujoco)
    importer.couple()
    importer.bodies()
    importer.actuators()
    importer.rest()
    importer.report.taken.append(f"joints: {', '.join(importer.body)}")
    return importer.finish(partial)
