"""Fields of MuJoCo's compiled models that are not at their default and have no counterpart in a description.

`read_mujoco` asks for all fields of a model: those in `Kind.converted` are converted, derived from others or only
drawn; those in `Kind.ignored` act in constraints, contacts or solvers, which a description lacks. All others, including
fields of later versions of MuJoCo, are not supported.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

_REFERENCE = """
<mujoco>
  <worldbody>
    <site name="a"/>
    <body><joint name="j"/><geom size="1"/><site name="b" pos="0 0 1"/></body>
  </worldbody>
  <equality><joint joint1="j"/></equality>
  <tendon><spatial name="t"><site site="a"/><site site="b"/></spatial></tendon>
  <actuator><muscle tendon="t" lengthrange="0 1"/></actuator>
</mujoco>
"""


class Kind(NamedTuple):
    """Elements of a kind.

    Args:
        fields: Prefix of the names of their fields.
        number: Field with their number.
        converted, ignored: Fields without their prefix, see the module.
    """

    fields: str
    number: str
    converted: str
    ignored: str


KINDS = {
    "body": Kind(
        "body",
        "nbody",
        "bvhadr bvhnum conaffinity contype dofadr dofnum geomadr geomnum gravcomp inertia invweight0 ipos iquat jntadr "
        "jntnum mass parentid pos quat rootid sameframe simple subtreemass treeid user weldid",
        "margin mocapid",
    ),
    "joint": Kind(
        "jnt",
        "njnt",
        "actgravcomp actuatorid axis bodyid dofadr group limited plasticadr pos qposadr range stiffness type user",
        "margin solimp solref",
    ),
    "degree of freedom": Kind(
        "dof",
        "nv",
        "M0 Madr armature bodyid damping invweight0 jntid length parentid simplenum treeid",
        "frictionloss solimp solref",
    ),
    "tendon": Kind(
        "tendon",
        "ntendon",
        "actuatorid adr group invweight0 length0 lengthspring limited matid num plasticadr range rgba treeid treenum "
        "type user width",
        "frictionloss margin solimp_fri solimp_lim solref_fri solref_lim",
    ),
    "geom": Kind(
        "geom",
        "ngeom",
        "aabb bodyid castshadow conaffinity condim contype dataid friction gap group margin matid pos priority quat "
        "rbound rgba sameframe size solimp solmix solref type user",
        "adhesion surfacevel",
    ),
    "equality": Kind("eq", "neq", "active0 data obj1id obj2id objtype type", "solimp solref"),
    "actuator": Kind(
        "actuator",
        "nu",
        "acc0 actadr actlimited actnum biasprm biastype cranklength ctrladr ctrllimited ctrlnum ctrlspec dynprm "
        "dyntype forcelimited forcerange gainprm gaintype gear group history historyadr length0 lengthrange outadr "
        "outnum trnid trntype user",
        "actearly actrange armature ctrlrange damping dampingpoly delay",
    ),
}

_USED_OPTIONS = "disableflags", "enableflags", "gravity"
_PHYSICS = "density", "viscosity", "wind", "disableactuator"


class Unusual(NamedTuple):
    """Field that is not at its default.

    Args:
        field: Its name in MuJoCo's model.
        rows (list of int): Elements whose values are ``value``; empty for an option.
        value: Their value.
        default: The default value.
        label: Name for the report.
        ignored: Whether it acts only in constraints, contacts or solvers.
    """

    field: str
    rows: list[int]
    value: Any
    default: Any
    label: str
    ignored: bool

    def reset(self, m: Any) -> None:
        """Set the field to its default in a model."""
        if self.rows:
            getattr(m, self.field)[self.rows] = self.default
        else:
            setattr(m.opt, self.field, self.default)


def unusual_fields(m: Any, mujoco: Any) -> Iterator[Unusual]:
    """Yield the fields of a model that are neither converted nor at their default; equal values are joined."""
    reference = mujoco.MjModel.from_xml_string(_REFERENCE)
    for name in dir(m.opt):
        if name.startswith("_") or name in _USED_OPTIONS:
            continue
        value, default = getattr(m.opt, name), getattr(reference.opt, name)
        if not np.array_equal(value, default):
            yield Unusual(name, [], np.copy(value), default, f"option {name}", name not in _PHYSICS)
    for what, (fields, number, converted, ignored) in KINDS.items():
        for field in dir(m):
            name = field.removeprefix(f"{fields}_")
            if name == field or name in converted.split() or callable(getattr(m, field)):
                continue
            values, default = getattr(m, field), getattr(reference, field)[-1]
            groups: dict[bytes, list[int]] = {}
            for i in range(getattr(m, number)):
                if not np.array_equal(values[i], default):
                    groups.setdefault(values[i].tobytes(), []).append(i)
            for rows in groups.values():
                label = f"{name} of {what} {_named(m, mujoco, what, rows)}"
                yield Unusual(field, rows, np.copy(values[rows[0]]), default, label, name in ignored.split())


def _named(m: Any, mujoco: Any, what: str, rows: list[int]) -> str:
    """Return the names of elements, or their numbers; those of degrees of freedom are their joints'."""
    if what == "degree of freedom":
        what, rows = "joint", list(dict.fromkeys(m.dof_jntid[rows].tolist()))
    kind = getattr(mujoco.mjtObj, f"mjOBJ_{what.upper()}")
    names = [mujoco.mj_id2name(m, kind, i) or f"{i}" for i in rows]
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def flags(m: Any, mujoco: Any) -> tuple[set[str], list[str]]:
    """Return the names of the disabled and the enabled flags, such as ``GRAVITY``."""
    off = {bit.name.split("_")[1] for bit in _bits(mujoco.mjtDisableBit) if m.opt.disableflags & bit.value}
    return off, [bit.name.split("_")[1] for bit in _bits(mujoco.mjtEnableBit) if m.opt.enableflags & bit.value]


def _bits(kind: Any) -> list[Any]:
    return [bit for name, bit in kind.__members__.items() if not name.startswith("mjN")]
