"""The command line: exit codes, what goes to which stream, the page, and what --help does not load."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

from attitude import __version__
from sims import cli, output
from sims.cli import app
from sims.papers import page, registry, runner
from sims.papers.table import Paper, Row, bound, digits, statement

GOOD = digits("π", "3.14", np.pi)
BAD = bound("drift", "constant", 1.0, 1e-3)


def attitude(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def papers(monkeypatch):
    """Replace the registry by stub papers; call with name=rows."""

    def install(**rows_of):
        monkeypatch.setattr(registry, "MODULES", {name: name for name in rows_of})
        for name, rows in rows_of.items():
            monkeypatch.setitem(sys.modules, f"sims.papers.{name}", SimpleNamespace(reproduce=stub(name, rows)))

    def stub(name, rows):
        def reproduce(out, progress):
            progress("noise", 0.5)
            print("noise")
            (out / f"{name}.png").write_bytes(b"png")
            return Paper(name, f"Title of {name}", rows, [Path(f"{name}.png")])

        return reproduce

    return install


# ------------------------------------------------------------------ the real papers
@pytest.mark.parametrize("name", registry.MODULES)
def test_every_registered_paper_is_there_under_its_name(name):
    source = registry.source(name)
    assert name == source.NAME
    assert source.TITLE
    assert callable(source.reproduce)


def test_help_loads_nothing_heavy():
    code = (
        "import sys\nfrom typer.testing import CliRunner\nfrom sims.cli import app\n"
        "result = CliRunner().invoke(app, ['--help'])\n"
        "assert result.exit_code == 0 and 'papers' in result.output and 'bench' in result.output, result.output\n"
        "print(sorted({'numpy', 'numba', 'scipy', 'matplotlib', 'attitude', 'heyoka'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


# ------------------------------------------------------------------ exit codes and streams
def test_unknown_paper_is_refused_with_the_names_there_are():
    result = attitude("papers", "nobody")
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert all(name in result.stderr for name in ["nobody", *registry.MODULES])


@pytest.mark.parametrize("command", [("papers", "good"), ("bench", "--quick")])
def test_unwritable_out_is_refused_before_any_work(papers, tmp_path, command):
    papers(good=[GOOD])
    (tmp_path / "file").write_text("mine")
    result = attitude(*command, "--out", tmp_path / "file" / "below")
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "cannot write to --out" in result.stderr
    assert result.stderr.count("\n") == 1
    assert (tmp_path / "file").read_text() == "mine"


def test_a_folder_is_no_file_for_the_bench(tmp_path):
    result = attitude("bench", "--out", tmp_path)
    assert result.exit_code == 2
    assert "is a folder" in result.stderr


def test_one_paper_prints_its_whole_table(papers, tmp_path):
    papers(good=[GOOD, statement("brackets [1, 2]", "holds", "[bold]", True)], other=[BAD])
    result = attitude("papers", "good", "--out", tmp_path / "new" / "folder")
    assert result.exit_code == 0
    for text in ("Title of good", "π", "3.14159", "brackets [1, 2]", "[bold]", "pass"):
        assert text in result.stdout
    assert "noise" not in result.stdout
    assert "other" not in result.stdout
    assert (tmp_path / "new" / "folder" / "index.html").exists()


def test_all_papers_give_a_summary_and_the_failing_rows(papers, tmp_path):
    papers(good=[GOOD], wrong=[GOOD, BAD])
    result = attitude("papers", "--out", tmp_path)
    assert result.exit_code == 1
    lines = [re.split(r"\s*[│]\s*", line)[1:-1] for line in result.stdout.splitlines() if "│" in line]
    assert [line[:5] for line in lines[:2]] == [["good", "1", "1", "0", "1"], ["wrong", "2", "1", "1", "1"]]
    assert [(line[0], line[1], line[-1]) for line in lines[2:]] == [("wrong", "drift", "FAIL")]


def test_a_paper_without_rows_has_shown_nothing(papers, tmp_path):
    papers(empty=[])
    assert attitude("papers", "--out", tmp_path).exit_code == 1


@pytest.mark.parametrize(("rows", "code"), [([GOOD], 0), ([GOOD, BAD], 1)])
def test_json_is_one_document_and_nothing_else(papers, tmp_path, rows, code):
    papers(good=[GOOD], varied=rows)
    result = attitude("papers", "--json", "--out", tmp_path)
    assert result.exit_code == code
    document = json.loads(result.stdout)
    assert document["passed"] is (code == 0)
    assert [paper["name"] for paper in document["papers"]] == ["good", "varied"]
    first = document["papers"][0]
    assert first["rows"][0] == {**vars(GOOD), "difference": GOOD.difference}
    assert first["figures"] == ["good.png"]
    assert first["seconds"] >= 0.0
    assert "noise" in result.stderr


def test_json_has_no_nan_and_no_numpy_types():
    row = Row("q", "p", "o", float("nan"), "bound", np.bool_(True))
    text = output.json_text({"row": row, "list": (np.float64(1.5), np.inf, np.int64(3)), "path": Path("a") / "b"})
    assert json.loads(text) == {
        "row": {**vars(row), "difference": None, "passed": True}, "list": [1.5, None, 3], "path": "a/b",
    }  # fmt: skip


def test_progress_goes_from_zero_to_one_over_all_papers(papers, tmp_path):
    papers(one=[GOOD], two=[GOOD])
    seen = []
    runner.reproduce(["one", "two"], tmp_path, lambda what, fraction: seen.append((what, fraction)))
    assert seen == [("one", 0.0), ("one: noise", 0.25), ("two", 0.5), ("two: noise", 0.75)]


# ------------------------------------------------------------------ the page
def rendered(**fields):
    values = {"name": "n", "title": "t", "rows": [GOOD], "figures": []} | fields
    return page.render([runner.Result(Paper(**values), 1.0)])


def test_html_is_escaped_everywhere():
    evil = "<script>\"&'"
    html = rendered(
        name=evil, title=evil, rows=[Row(evil, evil, evil, None, evil, True)], figures=[Path('a"b <c>.png')]
    )  # fmt: skip
    assert "<script>" not in html
    assert html.count("&lt;script&gt;&quot;&amp;&#x27;") == 6  # name, title, quantity, printed, ours, kind
    assert 'src="a%22b%20%3Cc%3E.png"' in html
    assert 'alt="a&quot;b &lt;c&gt;"' in html


def test_page_needs_nothing_from_elsewhere(tmp_path):
    html = rendered(rows=[GOOD, BAD], figures=[Path("n-fig1.png"), Path("sub/n-fig2.png")])
    links = re.findall(r'(?:src|href)="([^"]*)"', html)
    assert set(links) == {"#n", "n-fig1.png", "sub/n-fig2.png"}
    assert 'id="n"' in html
    assert not re.search(r"https?:|@import|url\(", html)
    assert html.count('class="pass"') == html.count('class="fail"') == 1


# ------------------------------------------------------------------ whole files
def test_a_file_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "index.html"
    output.write_whole(path, "first π")
    assert path.read_text(encoding="utf-8") == "first π"
    with pytest.raises(UnicodeEncodeError):
        output.write_whole(path, "second " * 100_000 + "\ud800")  # cannot be encoded: fails in the middle
    monkeypatch.setattr("os.replace", lambda *names: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        output.write_whole(path, "third")
    assert path.read_text(encoding="utf-8") == "first π"
    assert list(tmp_path.iterdir()) == [path]


def test_checking_a_folder_leaves_nothing_behind(tmp_path):
    output.check_folder(tmp_path / "a" / "b")
    output.check_file(tmp_path / "c" / "file.json")
    assert sorted(p.relative_to(tmp_path).as_posix() for p in tmp_path.rglob("*")) == ["a", "a/b", "c"]


def test_out_is_never_put_in_the_place_of_something_else(tmp_path):
    pipe, link, target = tmp_path / "pipe", tmp_path / "link", tmp_path / "target"
    os.mkfifo(pipe)
    target.write_text("old")
    link.symlink_to(target)
    with pytest.raises(OSError, match="not a regular file"):
        output.check_file(pipe)
    with pytest.raises(OSError, match="not a regular file"):
        output.write_whole(pipe, "new")
    assert pipe.is_fifo()
    output.write_whole(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"


def test_version_is_that_of_the_package():
    done = attitude("--version")
    assert done.exit_code == 0
    assert done.stdout == f"attitude-toolkit {__version__}\n"


@pytest.mark.parametrize(("code", "told"), [(130, "interrupted; files that were already written stay\n"), (2, "")])
def test_an_interrupt_is_told(monkeypatch, capsys, code, told):
    monkeypatch.setattr(cli, "app", lambda **_: sys.exit(code))
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code == code
    assert capsys.readouterr() == ("", told)
