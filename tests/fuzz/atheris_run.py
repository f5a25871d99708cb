"""Let atheris look for bytes that a target stumbles over.

``python -m tests.fuzz.atheris_run TARGET [flags of libFuzzer] [folder of inputs]``
"""

import importlib
import pkgutil
import sys


def main() -> None:
    """Fuzz one target; does not return."""
    import atheris

    # Before atheris puts its calls into functions: Numba, which compiles these, does not know them.
    kernels = importlib.import_module("streamjoin.core.kernels")
    for module in pkgutil.iter_modules(kernels.__path__, f"{kernels.__name__}."):
        importlib.import_module(module.name)
    with atheris.instrument_imports(include=["streamjoin"]):
        from tests.fuzz.targets import TARGETS
    target = TARGETS[sys.argv.pop(1)]
    for seed in target.seeds():
        target.one(seed)  # compiles what is compiled when it is first called
    atheris.Setup(sys.argv, target.one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
