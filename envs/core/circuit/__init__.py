"""Nervous systems as data, and the kernels that simulate them."""

from gymnosoma.moved import point_from

point_from(__name__)
