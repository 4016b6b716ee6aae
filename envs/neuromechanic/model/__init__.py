"""Model files: what they may say, and the constants that kernels get from them.

`loading` reads files and mappings, and changes them; `tables` lists their keys and checks the values of each table;
`reader` interprets such lists; `build` and `build_muscles` compute constants and check what depends on several tables;
`layout` packs the constants into records. The equations that use them are in the folder above.
"""

from .build import Joint, cubics
from .loading import Model, changed, held, limited, load, write_toml

__all__ = ["Joint", "Model", "changed", "cubics", "held", "limited", "load", "write_toml"]
