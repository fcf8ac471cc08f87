"""The dashboard reports why training was not recorded, as status and report do."""

from pathlib import Path

from playwright.sync_api import expect

from sonde.store.layout import frameworks_folder
from tests.browser.conftest import Open
from tests.browser.served import serve
from tests.fakes.job import FakeJob


def test_unsupported_framework_is_named_where_training_would_be_shown(
    open_page: Open, tmp_path: Path
) -> None:
    job = FakeJob(f"{tmp_path}/boosted")
    job.backend.write(f"{frameworks_folder(job.node, 1)}/catboost-1.2.0", b"")
    job.record({"cpu.user_percent": [50.0, 60.0]}).end()
    served = serve(str(tmp_path))
    notice = "Training not recorded: This job uses CatBoost 1.2, which Sonde cannot instrument."

    overview = open_page(served.page("boosted", "overview"))
    expect(overview.get_by_role("note")).to_contain_text(notice)
    expect(overview.get_by_text("No training steps recorded.")).to_be_visible()
    tensors = open_page(served.page("boosted", "tensors"))
    expect(tensors.locator("main")).to_contain_text(notice)
    served.stop()
