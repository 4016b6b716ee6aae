"""The figures of the neuromechanic paper, from our own simulations."""

from __future__ import annotations

from ..paper import Paper, PaperFigure
from .hindlimb import figure_2, illustration_2
from .standing import figure_3, illustration_3

PAPER = Paper(
    "neuromechanic",
    "Bunderson, Bingham, Sohn, Ting & Burkholder (2012), Neuromechanic, Int J Numer Method Biomed Eng 28:1015",
    (
        PaperFigure(
            "figure_2", "Stability of 10,000 activation patterns of the cat's hindlimb (illustration 1)", figure_2
        ),
        PaperFigure("figure_3", "A standing figure slips and steps, with free and with pinned feet", figure_3),
        PaperFigure(
            "illustration_2",
            "The state matrix as a linear function of the activations: error and speed",
            illustration_2,
        ),
        PaperFigure("illustration_3", "Stability of the pinned figure over stance and delay", illustration_3),
    ),
    {"Figure 1": "scheme of the order in which the equations are evaluated"},
)
