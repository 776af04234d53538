"""The commands that draw a release and write a page about it."""

import sys

import pytest

import sfumato as sf
from unit.cli.support import published


class TestPictures:
    @pytest.mark.parametrize("ending", [".png", ".svg", ".pdf"])
    def test_plot(self, sfumato, curve, tmp_path, ending):
        assert sfumato("plot", curve, "-o", f"picture{ending}").out == f"picture{ending}\n"
        head = (tmp_path / f"picture{ending}").read_bytes()[:5]
        assert head == {".png": b"\x89PNG\r", ".svg": b"<?xml", ".pdf": b"%PDF-"}[ending]

    def test_plot_next_to_the_release(self, sfumato, surface, tmp_path):
        assert sfumato("plot", surface, "--json").data == {"written": str(tmp_path / "surface.png")}
        assert (tmp_path / "surface.png").stat().st_size > 1000

    def test_report(self, sfumato, curve, tmp_path):
        assert sfumato("report", curve).out == f"{tmp_path / 'curve.html'}\n"
        assert "<html" in (tmp_path / "curve.html").read_text()
        assert sfumato("report", curve, "-o", "page.html", "--json").data == {"written": "page.html"}
        assert "<html" in (tmp_path / "page.html").read_text()

    def test_what_cannot_be_drawn(self, sfumato, curve, tmp_path):
        sfumato("plot", curve, "-o", "picture.gif").failed(2, "must end in .png, .svg, .pdf")
        sfumato("plot", curve, "-o", "no/picture.png").failed(2, "no folder")
        sfumato("report", curve, "-o", "no/page.html").failed(2, "no folder")
        sfumato("plot", curve, "--confidence", "2").failed(2, "confidence")
        sfumato("report", curve, "--confidence", "2").failed(2, "confidence")
        curve.rename(tmp_path / "curve.png")
        sfumato("plot", "curve.png").failed(2, "the release itself")
        sfumato("plot", "curve.png", "-o", "p.png", "--map").failed(2, "--map draws two columns of numbers to scale")
        sfumato("plot", "curve.png", "-o", "p.png", "--group", "F").failed(2, "--group F: this release has no groups")

    def test_more_columns(self, sfumato, tmp_path):
        published(sf.Box([(0, 1)] * 3), sf.Bernstein(1)).save(tmp_path / "r.sfumato")
        assert sfumato("plot", "r.sfumato").out == "r.png\n"

    @pytest.mark.slow
    def test_a_map(self, sfumato, surface, tmp_path):
        plain, to_scale = (
            sfumato("plot", surface, "-o", f"{n}.png", *more) for n, more in (("a", ()), ("b", ("--map",)))
        )
        assert (plain.out, to_scale.out) == ("a.png\n", "b.png\n")
        assert (tmp_path / "a.png").read_bytes() != (tmp_path / "b.png").read_bytes()
        assert sfumato("report", surface, "-o", "c.html", "--map").out == "c.html\n"

    def test_without_matplotlib(self, sfumato, curve, monkeypatch):
        monkeypatch.setitem(sys.modules, "matplotlib", None)
        sfumato("plot", curve).failed(1, "pip install 'sfumato[plot]'")
