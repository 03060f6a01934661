"""The browser check. Playwright is among the packages that only tests need, in .venv/test; all others are JupyterLab's."""

import site
from pathlib import Path

for packages in (Path(__file__).resolve().parents[2] / ".venv" / "test").glob("lib/python*/site-packages"):
    site.addsitedir(str(packages))
