"""The figures of Ekeberg (1993): forces, swimming, turning, and what the text says of them."""

from __future__ import annotations

from ..paper import Paper, PaperFigure
from .sections import figure_3, section_3_2, section_3_6, section_4, table_3
from .swimming import figure_4, figure_5, figure_6

PAPER = Paper(
    "lamprey",
    "Ekeberg (1993), A combined neuronal and mechanical model of fish swimming, Biol. Cybern. 69:363-374",
    (
        PaperFigure("figure_3", "Forces on the links, and the torque of a joint", figure_3),
        PaperFigure("figure_4", "Swimming at a tonic level of 0.15", figure_4),
        PaperFigure("figure_5", "Swimming at 0.4; edge cells against motoneurons", figure_5),
        PaperFigure("figure_6", "Turning: 0.1 on the left side, 0.7 on the right", figure_6),
        PaperFigure("table_3", "Mechanical properties of the links, from the shape in the text", table_3),
        PaperFigure("section_3.2", "Drag along the body", section_3_2),
        PaperFigure("section_3.6", "Steps of the numerical methods", section_3_6),
        PaperFigure("section_4.1", "Rhythm, speed and phase lags over the level and the head's extra", section_4),
    ),
    {
        "Figure 1 A, B": "schemes: a model neuron, and the connections in a segment",
        "Figure 2 A, B": "schemes: coordinates of a link, and the numbers of links and joints",
        "Table 1, Table 2": "parameters of neurons and synapses, which are given to the model",
        "Section 3.6, one fifth of real time": "the speed of a computer of 1990; for ours see [speed](guides/speed.md)",
    },
)
