"""The page: one file that needs nothing from elsewhere, escaped, with the right sentences, numbers and events."""

import base64
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from sims import log as logs
from sims import report
from sims.events import events
from sims.flown import Flown
from sims.narrative import duration, narrative
from sims.plots import Picture
from sims.summary import summarise

PICTURES = [
    Picture("one", "First <figure>", "With & without.", b"\x89PNG one"),
    Picture("two", "Second", "Nothing.", b"\x89PNG two"),
]
VOID = {"meta", "img", "br"}


class Page(HTMLParser):
    """Tags in order, what links where, and all text by the tag it stands in."""

    def __init__(self, html):
        super().__init__()
        self.open, self.tags, self.links, self.text = [], [], [], {}
        self.feed(html)
        assert self.open == [], "tags left open"

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [value for name, value in attrs if name in ("src", "href", "srcset", "action", "data")]
        assert not any(name.startswith("on") for name, _ in attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.setdefault(self.open[-1] if self.open else "", []).append(data)

    def all(self, tag):
        return "".join(self.text.get(tag, []))


def render(log, pictures=PICTURES):
    return report.render(log, summarise(log), pictures)


# ------------------------------------------------------------------ the page
def test_one_file_that_needs_nothing_from_elsewhere(log):
    html = render(log)
    page = Page(html)
    assert all(link.startswith("data:image/png;base64,") for link in page.links)
    assert not {"script", "link", "iframe", "object"} & set(page.tags)
    assert "http" not in html
    assert "@import" not in html
    assert "url(" not in html
    assert [base64.b64decode(link.split(",")[1]) for link in page.links] == [picture.png for picture in PICTURES]
    assert page.all("figcaption") == " With & without. Nothing."


def test_headline_facts_and_verdict(log):
    page = Page(render(log))
    assert page.all("h1") == "Mission: made up"
    assert "Epoch 2026-03-20T12:00:00Z · seed 7 · tick 0.1 s · 8516 rows" in page.all("p")
    assert page.all("span") == "all 5 goals reached"


def test_a_missed_goal_is_named(story):
    story.about = replace(story.about, goals={"pointing_deg": 0.1, "detumbled_orbits": 2.0})
    html = render(logs.dataset(story.rows, story.about))
    assert Page(html).all("span") == "1 of 3 goals missed"
    assert '<span class="verdict fail">1 of 3 goals missed</span> pointing error, 3σ, sunlit and settled' in html
    assert html.count('<td class="fail">FAIL</td>') == 1
    assert html.count('<td class="pass">pass</td>') == 2


def test_numbers_stand_in_the_table(log):
    cells = Page(render(log)).text["td"]
    k = cells.index("pointing error, 3σ, sunlit and settled")
    assert cells[k + 1 : k + 5] == ["0.3", "deg", "≤ 1", "pass"]


def test_everything_is_escaped(story):
    evil = '<script>alert("1")</script>'
    toml = f"</pre></details>{evil} & more"
    about = replace(story.about, scenario=evil, toml=toml, epoch_utc=f"2026{evil}", sha256=evil)
    html = render(logs.dataset(story.rows, about), [Picture('x" onload="y', evil, evil, b"")])
    page = Page(html)
    assert "script" not in page.tags
    assert page.all("h1") == f"Mission: {evil}"
    assert page.all("pre") == toml
    assert "onload=" not in re.sub(r"&quot;.*?&quot;", "", html)


def test_the_scenario_is_folded_away(log):
    page = Page(render(log))
    assert page.all("pre") == log.attrs["scenario_toml"]
    assert page.tags.index("details") < page.tags.index("pre")


def test_light_and_dark_and_paper(log):
    html = render(log)
    assert "color-scheme: light dark" in html
    assert "prefers-color-scheme: dark" in html
    assert "@media print" in html


def test_written_whole(log, tmp_path, full_disk):
    path = tmp_path / "report.html"
    report.write(path, log, summarise(log), PICTURES)
    assert path.read_text(encoding="utf-8") == render(log)
    path.write_text("before")
    with full_disk(5000), pytest.raises(OSError, match="large"):
        report.write(path, log, summarise(log), PICTURES)
    assert [entry.read_text() for entry in tmp_path.iterdir()] == ["before"]


# ------------------------------------------------------------------ sentences
def told(story):
    log = logs.dataset(story.rows, story.about)
    return "\n".join(narrative(Flown(log), summarise(log)))


def test_what_happened_in_plain_words(story):
    text = told(story)
    for sentence in (
        "The log covers 284 min, 3 orbits.",
        "The spacecraft began at 10.1 deg/s.",
        "Detumbled after 52 min (0.55 orbits): the rate stayed below 0.5 deg/s.",
        "At 60 min it went from detumble to acquire. At 62 min it went from acquire to nominal.",
        "At 150 min it went from nominal to safe because the attitude or an essential sensor was lost.",
        "The first attitude was found at 61 min.",
        "Settled in nominal mode, the true pointing error was 0.3 deg (3σ) in sunlight and 0.6 deg in eclipse.",
        "It followed the target 60.0° N 30.0° W once: 116.7 to 125.0 min.",
        "After each slew the error there was 0.3 deg (3σ).",
        "The gyro was held faulty once: 149.8 to 158.3 min.",
        "The wheels reached at most 80 % of their speed, 50 % in the last orbit.",
        "In 7 min of dumping the torquers took out 0.8 mN m s.",
        "It was in the Earth's shadow 3 times, 105 min in all.",
    ):
        assert sentence in text


def test_a_mission_that_failed(story):
    story.put("truth", omega_B=[0.1, 0.0, 0.0])
    story.put("estimate", running=0)
    story.put("control", mode=0, pointing=-1)
    text = told(story)
    assert "It never came below 0.5 deg/s: the last rate was 5.73 deg/s." in text
    assert "The estimator never had an attitude." in text
    assert "pointing error" not in text


def test_a_spin_is_no_tumble(story):
    story.put("control", mode=3)
    story.about = replace(story.about, damper=True)
    assert "never came below" not in told(story)
    assert "as the damper did its work" in told(story)


def test_many_faults_are_not_told_one_by_one(story):
    story.put("estimate", faulty=np.where(story.t % 1000.0 < 100.0, 2, 0))
    (spans,) = re.findall(r"The magnetometer was held faulty 18 times: (.*) and 12 more\.", told(story))
    assert spans.split(", ")[:2] == ["0.0 to 1.7 min", "16.7 to 18.3 min"]
    assert len(spans.split(", ")) == 6


@pytest.mark.parametrize(("seconds", "text"), [(45.0, "45 s"), (600.0, "10 min"), (90_000.0, "25.0 h")])
def test_durations(seconds, text):
    assert duration(seconds) == text


# ------------------------------------------------------------------ events
def test_events_in_order(log):
    found = [(event.t_s, event.text) for event in events(Flown(log))]
    times = [t for t, _ in found]
    assert times == sorted(times)
    for event in (
        (0.0, "the log begins at 10.1 deg/s"),
        (3124.0, "true rate below 0.5 deg/s"),
        (3650.0, "attitude found"),
        (5000.0, "dumping begins"),
        (5400.0, "dumping ends"),
        (7000.0, "turns to target 60.0° N 30.0° W"),
        (7500.0, "leaves target 60.0° N 30.0° W"),
        (8990.0, "gyro held faulty"),
        (9500.0, "gyro trusted again"),
        (9000.0, "nominal → safe (lost)"),
    ):
        assert found.count(event) == 1
    assert sum(text == "enters eclipse" for _, text in found) == 3


def test_events_have_minutes_and_a_date(log):
    html = render(log)
    assert '<tr><td class="number">60.0</td><td class="text">2026-03-20 13:00:00</td><td>mode</td>' in html
    assert report.utc("2026-12-31T23:59:50Z", 15.4) == "2027-01-01 00:00:05"
    assert report.utc("once upon a time", 1.0) == ""


def test_very_many_events_are_cut(story):
    story.put("estimate", faulty=np.arange(story.t.size) % 2)
    html = render(logs.dataset(story.rows, story.about))
    (number,) = re.findall(r"<p>(\d+) more are left out", html)
    assert int(number) == len(events(Flown(logs.dataset(story.rows, story.about)))) - report.MOST_EVENTS
    assert html.count('<td class="text">') == report.MOST_EVENTS
