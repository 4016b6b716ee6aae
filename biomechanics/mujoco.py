"""Import of MuJoCo models as descriptions for `envs.neuromechanic.load`, with a report on each part.

The importer reads the compiled model, so that MuJoCo resolves defaults, includes, meshes and the order of Euler angles.
Joint positions are relative to the initial posture ``qpos0``.
"""

from __future__ import annotations

import copy
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gymnosoma.envs.core.files import SECONDS, check_file
from gymnosoma.envs.neuromechanic import HIGHEST, LARGEST, MUJOCO_CURVES, Neuromechanic

from .importer import LARGEST_FILE, Importer, Place, Report
from .mujoco_fields import flags, unusual_fields
from .self_check import mujoco_errors

Vector = NDArray[np.float64]

COMPILER_MEMORY = 1 << 32
"""Largest memory of MuJoCo's compiler, bytes."""

_COMPILE = """import resource, sys, mujoco
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[3]),) * 2)
mujoco.mj_saveModel(mujoco.MjModel.from_xml_path(sys.argv[1]), sys.argv[2])"""

_FLAGS = {"GRAVITY", "SPRING", "DAMPER", "EQUALITY", "CONSTRAINT", "ACTUATION"}
"""Flags with an effect on the description."""

_KINDS = "free", "ball", "prismatic", "revolute"
"""Joint types in the order of MuJoCo's ``mjtJoint``."""


def _turn(quaternion: Any) -> Vector:
    """Return the rotation matrix of a quaternion (w, x, y, z)."""
    from scipy.spatial.transform import Rotation

    w, x, y, z = quaternion
    return np.array(Rotation.from_quat([x, y, z, w]).as_matrix())


SAME = 1e-6
"""Largest difference from MuJoCo's accelerations, relative to the largest acceleration of the state or 1 rad/s^2."""


class _MujocoImporter(Importer):
    """Builder of the description of one model, for `read_mujoco`."""

    def __init__(self, source: Any, m: Any, mujoco: Any) -> None:
        super().__init__(source, np.zeros(3))
        self.tables |= {"body": self.body, "frame": {}, "curve": self.curve, "cylinder": {}, "muscle": {}, "motor": {}}
        self.whole, self.m, self.kinds = copy.copy(m), copy.copy(m), mujoco.mjtObj
        self.find = lambda kind, i: mujoco.mj_id2name(m, kind, i)
        self.places = [Place("ground", np.eye(3), np.zeros(3))]
        self.leads = {i: (i, np.poly1d([1.0, 0.0])) for i in range(m.njnt)}
        self.coupled = True
        self.options(mujoco)
        self.gravity = self.m.opt.gravity

    # Options, and fields without a counterpart

    def options(self, mujoco: Any) -> None:
        """Apply flags to ``m``, and report all fields that are not converted; ``whole`` gets their defaults.

        So ``whole`` is the model that a description should equal, and ``m`` the same without flags.
        """
        off, on = flags(self.m, mujoco)
        m = self.m
        if "GRAVITY" in off:
            m.opt.gravity[:] = 0.0
        if "SPRING" in off:
            m.jnt_stiffness[:] = m.jnt_stiffnesspoly[:] = m.tendon_stiffness[:] = m.tendon_stiffnesspoly[:] = 0.0
        if "DAMPER" in off:
            m.dof_damping[:] = m.dof_dampingpoly[:] = m.tendon_damping[:] = m.tendon_dampingpoly[:] = 0.0
        if {"SPRING", "DAMPER"} <= off:  # MuJoCo computes no passive forces at all
            m.body_gravcomp[:] = m.opt.density = m.opt.viscosity = 0.0
        self.coupled = not {"EQUALITY", "CONSTRAINT"} & off
        if "ACTUATION" in off and m.nu:
            self.report.refused.append("flag actuation: actuators that are switched off are not supported")
            self.whole.opt.disableflags &= ~mujoco.mjtDisableBit.mjDSBL_ACTUATION.value
        for what, names in (("disabled", sorted(off - _FLAGS)), ("enabled", on)):
            if names:
                self.report.ignored.append(f"flags {what}: {', '.join(names).lower()}")
        medium = m.opt.density > 0.0 or m.opt.viscosity > 0.0
        for each in unusual_fields(m, mujoco):
            if each.field in ("wind", "geom_fluid") and not medium:
                continue
            unit_range = each.field.endswith("range") and np.array_equal(each.value, [0.0, 1.0])
            if each.field == "actuator_ctrlrange" and unit_range:
                continue
            each.reset(self.whole)
            value = " ".join(f"{x:g}" for x in np.ravel(each.value))
            if each.ignored:
                self.report.ignored.append(f"{each.label}: {value}")
            else:
                self.report.refused.append(f"{each.label}: {value} is not supported")
        for i in range(m.nplugin):
            self.report.refused.append(f"plugin {self.find(self.kinds.mjOBJ_PLUGIN, i) or i}: it is not supported")
        for i in range(m.nflex):
            self.report.refused.append(f"flex {self.find(self.kinds.mjOBJ_FLEX, i) or i}: it is not supported")

    def leave_out(self, field: str, i: int) -> None:
        """Set a field of an element of ``whole`` to 0, because the description lacks it."""
        getattr(self.whole, field)[i] = 0

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
            if not (m.eq_active0[e] and self.coupled):
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
                    joint["axis"] = (R @ m.jnt_axis[j]).tolist()
                self.attempt(f"joint {own}", self.add_joint, j, own, body, joint)
                if own in self.body:
                    body, p = own, p - at
            self.places.append(Place(body, R, p))
            label = self.name(self.find(self.kinds.mjOBJ_BODY, b) or f"body{b}", "joint", ("body", b))
            self.add("frame", label, self.places[-1].frame())
            parts = (float(m.body_mass[b]), R @ m.body_ipos[b] + p, R @ _turn(m.body_iquat[b]))
            if body != "ground" and parts[0] > 0.0:
                inertia = parts[2] @ np.diag(m.body_inertia[b]) @ parts[2].T
                self.masses.setdefault(body, []).append((*parts[:2], inertia))
                force = -m.body_gravcomp[b] * parts[0] * m.opt.gravity
                if force.any():
                    self.add("wrench", label, {"body": body, "at": parts[1].tolist(), "force": force.tolist()})
        self.add_masses()

    def add_joint(self, j: int, own: str, parent: str, joint: dict[str, Any]) -> None:
        """Add a body with a joint."""
        self.add_body(own, parent, joint | (self.hinge(j) if "axis" in joint else self.passive(j)))

    def passive(self, j: int) -> dict[str, Any]:
        """Return damping, armature and stiffness of a joint, for all of its degrees of freedom."""
        m, first = self.m, self.m.jnt_dofadr[j]
        dofs = slice(first, first + (6, 3, 1, 1)[m.jnt_type[j]])
        for field in ("damping", "armature"):
            if np.ptp(getattr(m, f"dof_{field}")[dofs]) > 0.0:
                raise ValueError(f"its {field} must be equal for all degrees of freedom")
        entry = {"damping": float(m.dof_damping[first]), "armature": float(m.dof_armature[first])}
        if m.jnt_stiffness[j] > 0.0:
            entry["stiffness"] = float(m.jnt_stiffness[j])
        return entry

    def hinge(self, j: int) -> dict[str, Any]:
        """Return the keys of a hinge or slide."""
        m, (leader, f) = self.m, self.leads[j]
        dof, own = m.jnt_dofadr[j], self.joint_name(j)
        if leader != j:
            if max(m.dof_damping[dof], m.dof_armature[dof], m.jnt_stiffness[j]) > 0.0:
                for field, i in (("dof_damping", dof), ("dof_armature", dof), ("jnt_stiffness", j)):
                    self.leave_out(field, i)
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
        entry = self.passive(j)
        if "stiffness" in entry:
            entry["rest"] = float(m.qpos_spring[m.jnt_qposadr[j]]) - start
        low, high = np.clip(m.jnt_range[j] - start, -LARGEST, LARGEST)
        if m.jnt_limited[j] and low < high:
            entry["range"] = [float(low), float(high)]
            if not low <= 0.0 <= high:
                entry["start"] = float(min(max(0.0, low), high))
        return entry

    # Muscles and motors

    def actuators(self) -> None:
        """Convert actuators on tendons to muscles and actuators on joints to motors."""
        m = self.m
        for a in range(m.nu):
            own = self.object_name(self.kinds.mjOBJ_ACTUATOR, a, "actuator")
            self.attempt(f"actuator {own}", self.actuator, a, own)
            if own not in self.inputs:
                self.leave_out("actuator_gaintype", a)
                self.leave_out("actuator_gainprm", a)
                self.leave_out("actuator_biastype", a)

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
            if m.tendon_limited[t]:
                self.report.ignored.append(f"limits of the length of tendon {own}")
            if t not in pulling:
                self.report.ignored.append(f"tendon {own}, which has no actuator")
        touching = int(np.sum((m.geom_contype > 0) | (m.geom_conaffinity > 0)))
        if touching:
            self.report.ignored.append(f"contact of {touching} geoms")
        if limited := int(np.sum(m.jnt_limited)):
            self.report.ignored.append(f"limits of {limited} joints (their ranges are imported)")
        for what, count in (("sensors", m.nsensor), ("keyframes", m.nkey), ("contact pairs", m.npair)):
            if count:
                self.report.ignored.append(f"{what}: {count}")

    def errors(self, animal: Neuromechanic, states: int = 3) -> tuple[float, Vector, Vector]:
        """Return the differences of an animal from MuJoCo; see `mujoco_errors`."""
        joints = {self.joint_name(j): (j, self.places[self.m.jnt_bodyid[j]].R) for j in range(self.m.njnt)}
        names = (self.object_name(self.kinds.mjOBJ_ACTUATOR, a, "actuator") for a in range(self.m.nu))
        return mujoco_errors(animal, self.whole, joints, {name: a for a, name in enumerate(names)}, states)

    def compare(self, description: dict[str, Any]) -> None:
        """Compare accelerations with MuJoCo's at three random states.

        Raises:
            ValueError: If they differ by more than `SAME`, or no model can be built from the description.
        """
        try:
            animal = Neuromechanic(description)
        except ValueError as wrong:
            raise ValueError(f"model {str(self.source)!r} cannot be built: {wrong}") from None
        error = self.errors(animal)[0]
        if not error <= SAME:
            raise ValueError(
                f"model {str(self.source)!r} is not converted correctly: accelerations differ from MuJoCo's by "
                f"{error:.1g} of the largest, and no line of the report explains this; please report the model"
            )
        self.report.taken.append(f"accelerations at 3 random states: within {error:.0e} of MuJoCo's, without contacts")


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


def converted(source: Any) -> _MujocoImporter:
    """Return the importer of a model with all of its parts; see `read_mujoco`."""
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
    return importer


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
    importer = converted(source)
    description, report = importer.finish(partial)
    if importer.names_so_far().entries["joint"]:
        importer.compare(description)
    return description, report
