"""The figures of the whisker_rod paper, from our own simulations."""

from __future__ import annotations

from ..paper import Paper, PaperFigure
from .figure_5 import figure_5
from .surveys import figure_5_correlations, figure_5_modes
from .table_1 import table_1

PAPER = Paper(
    "whisker_rod",
    "Oladazimi, Putelat, Szalai, Noda, Shimoyama, Champneys & Schwarz (2021), Conveyance of texture signals along a "
    "rat whisker, Scientific Reports 11:13570",
    (
        PaperFigure("table_1", "Parameters, what follows from them, and the whisker in air", table_1),
        PaperFigure("figure_5", "Kinematic and dynamical outputs of the model, A to J", figure_5),
        PaperFigure(
            "figure_5_correlations",
            "The correlations of Fig. 5 over mu*, the window of time and the component of the force",
            figure_5_correlations,
        ),
        PaperFigure("figure_5_modes", "Which mode vibrates, over the memory length L", figure_5_modes),
    ),
    {
        "Figure 1": "the whisker, the set-up, and sticks and slips of a recorded sweep",
        "Figure 2": "curvature and spectra of recorded sweeps, in air and on two sandpapers",
        "Figure 3": "curvature and moments of recorded sweeps",
        "Figure 4": "the force sensor, and forces measured at the base",
        "Table 2": "names of the model's outputs, without numbers; all of them are signals of `WhiskerRod`",
        "Figures S1 to S3": "recordings of other conditions, and the force sensor",
        "Figures S4, S5": "sketch and formulas of the model",
    },
)
