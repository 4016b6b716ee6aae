"""The figures of the whisker_chain paper, from our own simulations."""

from __future__ import annotations

from ..paper import Paper, PaperFigure
from .air import figure_6, figure_7, table_1
from .touch import figure_5, figure_8, figure_9, figure_10, figure_11, figure_12

PAPER = Paper(
    "whisker_chain",
    "Quist, Seghete, Huet, Murphey & Hartmann (2014), Modeling forces and moments at the base of a rat vibrissa during "
    "noncontact whisking and whisking against an object, J Neurosci 34:9828",
    (
        PaperFigure("table_1", "Parameters of the links", table_1),
        PaperFigure("figure_5", "Slow deflection against the quasi-static model", figure_5),
        PaperFigure("figure_6", "Frequency response of the tip", figure_6),
        PaperFigure("figure_7", "Whisking in air", figure_7),
        PaperFigure("figure_8", "Energy lost in a collision, and the bounce", figure_8),
        PaperFigure("figure_9", "Half-sine pushes against a peg", figure_9),
        PaperFigure("figure_10", "Peak moment over the velocity of the touch", figure_10),
        PaperFigure("figure_11", "Whisking against a peg", figure_11),
        PaperFigure("figure_12", "Dynamic against quasi-static energy", figure_12),
    ),
    {
        "Figures 1 to 4": "schemes of the chain, of the algorithms and of a collision in time",
        "Figure 6, experimental panels": "the response of a real D1 vibrissa, recorded by Hartmann et al. (2003)",
    },
)
