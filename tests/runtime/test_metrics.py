from __future__ import annotations

from urllib.request import urlopen

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.homes import CLOCK, ODD, WATERMARK, make_home
from windrow.api.homes import home_status
from windrow.errors import WindrowError
from windrow.runtime.home.home import Home
from windrow.runtime.home.records import Advance, Epoch, Progress
from windrow.runtime.watch.metrics import MetricsServer


@pytest.fixture
def place(tmp_path):
    make_home(tmp_path)
    return tmp_path


@pytest.fixture
def server(place):
    with MetricsServer(lambda: home_status(place, lambda: CLOCK), 0) as server:
        yield server


def scrape(server: MetricsServer) -> dict:
    """What a scraper reads: the families by name."""
    with urlopen(server.url) as answer:
        text = answer.read().decode()
    return {family.name: family for family in text_string_to_metric_families(text)}


def values(server: MetricsServer) -> dict:
    """The samples by name and labels."""
    families = scrape(server).values()
    return {(s.name, *s.labels.values()): s.value for family in families for s in family.samples}


def test_a_scrape_has_everything_that_the_status_has(server):
    found = values(server)
    assert {name: value for (name, *labels), value in found.items() if ODD not in labels and "broken" not in labels} == {
        "windrow_stream_rows_total": 1_200,
        "windrow_stream_late_total": 3,
        "windrow_stream_dead_total": 1,
        "windrow_stream_rate": 20,
        "windrow_stream_watermark_seconds": WATERMARK / 1e6,
        "windrow_stream_lag_seconds": 120,
        "windrow_stream_idle": 0,
        "windrow_stream_sealed": 0,
        "windrow_stream_epoch_seconds": 0.5,
        "windrow_query_answers_total": 42,
        "windrow_query_answered_until_seconds": WATERMARK / 1e6,
        "windrow_query_entries": 7,
        "windrow_query_state_bytes": 560,
        "windrow_query_quarantined": 0,
        "windrow_epoch": 0,
        "windrow_disk_bytes": 1_000,
        "windrow_files": 1,
    }  # fmt: skip
    assert found["windrow_query_quarantined", "broken", "flights"] == 1
    assert found["windrow_disk_bytes", "results"] == 1_000


def test_what_only_grows_is_a_counter_and_everything_is_explained(server):
    families = scrape(server)
    assert {name for name, family in families.items() if family.type == "counter"} == {
        "windrow_stream_rows", "windrow_stream_late", "windrow_stream_dead", "windrow_query_answers",
    }  # fmt: skip
    assert {family.type for family in families.values()} == {"counter", "gauge"}
    assert all(family.documentation for family in families.values())


def test_any_name_can_be_a_label_and_what_is_not_known_is_left_out(server):
    found = values(server)
    assert found["windrow_stream_rows_total", ODD] == 0
    assert ("windrow_stream_watermark_seconds", ODD) not in found
    assert ("windrow_stream_epoch_seconds", ODD) not in found


def test_the_next_scrape_knows_the_next_epoch(server, place):
    assert values(server)["windrow_stream_rows_total", "flights"] == 1_200
    home = Home(place)
    more = Progress(1, WATERMARK, WATERMARK, idle=True, clock=CLOCK, rows=1_500)
    with home.running():
        home.commit(Epoch(1, CLOCK, streams={"flights": Advance(more, 1, 300)}))
    home.close()
    found = values(server)
    assert found["windrow_stream_rows_total", "flights"] == 1_500
    assert found["windrow_stream_idle", "flights"] == 1
    assert found["windrow_epoch",] == 1


def test_a_port_is_one_servers_until_it_stops(server):
    with pytest.raises(
        WindrowError, match=rf"127\.0\.0\.1:{server.port}: address already in use; name another port"
    ):
        MetricsServer(lambda: None, server.port)
    server.stop()
    with MetricsServer(lambda: None, server.port) as next_one:
        assert next_one.port == server.port


@pytest.mark.parametrize(("port", "address"), [(70_000, "127.0.0.1"), (0, "192.0.2.1")])
def test_an_address_that_cannot_be(port, address):
    with pytest.raises(WindrowError, match="cannot serve metrics at"):
        MetricsServer(lambda: None, port, address)
