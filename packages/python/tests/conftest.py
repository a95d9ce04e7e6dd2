from __future__ import annotations

from pathlib import Path

import pytest
from campaign import campaign_in


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return campaign_in(tmp_path)
