"""``sfumato classify --method naive-bayes``, and the other commands on what it publishes."""

import csv
import io

import numpy as np
import pytest

import sfumato as sf
from sfumato.cli.columns import labelled_box
from sfumato.cli.records import Piece
from unit.drawing.support import LINE, SEX, WARD, bayes

LABEL = ("--label", "disease=no,yes")
COLUMNS = ("--column", "age:0:110", "--column", "sex=F,M")
NAIVE = ("--method", "naive-bayes", *LABEL, *COLUMNS, "--epsilon", "1")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Made-up records: the older, the more often ill; some are not complete."""
    folder = tmp_path_factory.mktemp("naive")
    generator = np.random.default_rng(5)
    for name, count in (("cohort.csv", 600), ("open.csv", 200)):
        age = generator.uniform(0, 110, count).round(1)
        ill = generator.random(count) < 1 / (1 + np.exp(-(age - 55) / 8))
        lines = ["patient,age,sex,flag,disease"]
        for i, (a, d) in enumerate(zip(age, ill, strict=True)):
            lines.append(f"{i // 2},{a},{'FM'[i % 2]},{i % 2},{'yes' if d else 'no'}")
        lines[7], lines[8], lines[9] = "3,,F,0,yes", "3,50,X,7,no", "3,50,F,0,unknown"
        (folder / name).write_text("\n".join(lines) + "\n")
    (folder / "columns.toml").write_text(
        "[columns.age]\nlow = 0\nhigh = 110\n"
        '[columns.sex]\ncategories = ["F", "M"]\n[columns.disease]\ncategories = ["no", "yes"]\n'
    )
    return folder


@pytest.fixture
def here(files, sfumato, tmp_path):
    """The records beside a runner of commands."""
    for name in ("cohort.csv", "open.csv", "columns.toml"):
        (tmp_path / name).write_text((files / name).read_text())
    return tmp_path


def rows(path):
    return list(csv.DictReader(io.StringIO(path.read_text())))


# --- publishing -------------------------------------------------------------------------------------------------


def test_what_a_person_reads(sfumato, here):
    asked = ("-o", "nb.sfumato", "--report", "nb.html", "--plot", "nb.png")
    result = sfumato("classify", "cohort.csv", *NAIVE, *asked)
    assert result.code == 0 and result.err == ""
    for words in (
        "Published a naive Bayes classifier of disease from age and sex.",
        "1-differential privacy for replacing one row",
        "disease: no, yes",
        "the class of largest share times likelihoods",
        "records (",
        "age: density, bandwidth",
        "sex: 2 categories, counted; tells 0.",
        "of the box noise alone cannot have changed the label (confidence 0.95)",
        "a missing value, or a category that is not declared, says nothing about the class",
        "nothing keeps count",
        "nb.sfumato  the release, for anybody",
    ):
        assert words in result.out, words
    release = sf.load(here / "nb.sfumato")
    assert isinstance(release, sf.NaiveBayesRelease) and release.classes == ("no", "yes")
    assert "Naive Bayes classifier" in (here / "nb.html").read_text()
    assert (here / "nb.png").read_bytes().startswith(b"\x89PNG")


def test_what_a_program_reads(sfumato, here):
    data = sfumato("classify", "cohort.csv", *NAIVE, "--likelihood", "normal", "--json").data
    assert data["kind"] == "naive-bayes" and data["likelihood"] == "normal" and data["public_test"] is None
    assert data["response"] == {"name": "disease", "classes": ["no", "yes"], "range": None}
    assert [one["class"] for one in data["classes"]] == ["no", "yes"]
    assert sum(one["share"] for one in data["classes"]) == pytest.approx(1)
    assert {one["column"] for one in data["columns"]} == {"age", "sex"} and 0 <= data["certain"]["share"] <= 1


@pytest.mark.slow
def test_a_public_test_is_counted_and_reported(sfumato, here):
    result = sfumato("classify", "cohort.csv", *NAIVE, "--public-test", "open.csv", "--report", "m.html")
    assert result.code == 0, result.err
    release = sf.load(here / "model.sfumato")
    known = [row for row in rows(here / "open.csv") if row["disease"] in ("no", "yes")]
    points = {"age": [float(row["age"]) if row["age"] else None for row in known], "sex": [row["sex"] for row in known]}
    right = sum(row["disease"] == said for row, said in zip(known, release.predict(points), strict=True))
    # Records that are not complete are predicted, and counted, too.
    assert f"open.csv: {100 * right / 199:.3g} % of 199 labels are right" in result.out
    assert "left out: 1 record without a declared label or a value" in result.out
    assert "On public records" in (here / "m.html").read_text()


def test_a_box_file_gives_all_columns_but_the_label(sfumato, here):
    asked = ("--method", "naive-bayes", "--label", "disease", "--box", "columns.toml", "--epsilon", "1")
    assert sfumato("classify", "cohort.csv", *asked).code == 0
    assert sf.load(here / "model.sfumato").box.names == ("age", "sex")
    box, *_ = labelled_box(["sex", "age:0:90"], "disease", here / "columns.toml", here / "cohort.csv")
    assert [column.kind for column in box.columns] == ["categorical", "interval"]


def test_categories_that_are_numbers(sfumato, here):
    asked = ("--method", "naive-bayes", *LABEL, "--column", "flag=0,1", "--epsilon", "1")
    assert sfumato("classify", "cohort.csv", *asked).code == 0
    assert sf.load(here / "model.sfumato").box.columns[0].categories == (0, 1)
    (here / "new.csv").write_text("flag\n0\n1\n7\n")
    assert sfumato("predict", "model.sfumato", "new.csv", "--json").data["incomplete"] == 1


def test_an_account_pays_and_a_plan_does_not(sfumato, here):
    sfumato("ledger", "create", "b.db", "clinic", "--epsilon", "1.5")
    paying = ("--ledger", "b.db", "--account", "clinic")
    plan = sfumato("classify", "cohort.csv", *NAIVE, *paying, "--plan")
    assert "nothing was spent" in plan.out and "would leave clinic: epsilon 0.5 left" in plan.out
    assert not (here / "model.sfumato").exists()
    assert sfumato("classify", "cohort.csv", *NAIVE, "--plan", "--json").data["noise_error"] > 0
    assert "epsilon 0.5 left of epsilon 1.5" in sfumato("classify", "cohort.csv", *NAIVE, *paying).out
    sfumato("classify", "cohort.csv", *NAIVE, "-o", "b.sfumato", *paying).failed(5, "nothing was released")


@pytest.mark.slow
def test_persons_rho_and_private_numbers_of_rows(sfumato, here):
    who = ("--person", "patient:2", "--neighbours", "add-remove", "--expected-rows", "400")
    data = sfumato("classify", "cohort.csv", *NAIVE, *who, "--json").data
    assert data["guarantee"]["unit"] == {"column": "patient", "max_rows": 2}
    rho = ("--method", "naive-bayes", *LABEL, *COLUMNS, "--rho", "0.5", "--force", "--json")
    assert sfumato("classify", "cohort.csv", *rho).data["noise"]["kind"] == "gaussian"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--method", "forest", *LABEL, *COLUMNS], "--method must be one of 'machine', 'naive-bayes'"),
        ([*NAIVE, "--likelihood", "uniform"], "--likelihood must be one of 'kernel', 'normal'"),
        ([*NAIVE, "--loss", "logistic"], "--loss goes with --method machine, not with naive-bayes; leave it out"),
        ([*NAIVE, "--C", "5"], "--C goes with --method machine"),
        ([*NAIVE, "--kernel", "rbf"], "--kernel goes with --method machine"),
        ([*NAIVE, "--gamma", "1"], "--gamma goes with --method machine"),
        ([*NAIVE, "--mechanism", "output"], "--mechanism goes with --method machine"),
        ([*NAIVE, "--landmarks", "5"], "--landmarks goes with --method machine"),
        (
            [*LABEL, "--column", "age:0:110", "--likelihood", "normal"],
            "--likelihood goes with --method naive-bayes, not",
        ),
        ([*NAIVE, "--expected-rows", "0"], "--expected-rows must be at least 1"),
        ([*NAIVE, "--column", "sex=F,M"], "--column sex is given twice"),
        ([*NAIVE, "--column", "disease=no,yes"], "--column disease is the label itself"),
        ([*NAIVE, "--column", "ward=A,B"], "--column ward: cohort.csv has no such column"),
        ([*NAIVE, "--column", "flag=0"], "--column flag=0: categories must be two or more"),
        (["--method", "naive-bayes", *LABEL], "a label told from which columns?"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_is_spent(sfumato, here, args, message):
    sfumato("classify", "cohort.csv", "--epsilon", "1", *args).failed(2, message)
    assert sorted(p.name for p in here.iterdir()) == ["cohort.csv", "columns.toml", "open.csv"]


@pytest.mark.slow
def test_a_learner_of_too_many_classes_is_not_drawn_and_is_refused_before_anything_is_spent(sfumato, here):
    asked = ("--label", "disease=a,b,c,d,e,f,g", "--column", "age:0:110", "--epsilon", "1", "--plot", "m.png")
    refused = sfumato("classify", "cohort.csv", "--method", "machine", *asked)
    refused.failed(2, "--plot: a picture tells 6 classes apart, this release has 7")
    assert not (here / "model.sfumato").exists()
    assert sfumato("classify", "cohort.csv", "--method", "naive-bayes", *asked).code == 0  # which shows the largest
    assert (here / "m.png").exists()


# --- the other commands -----------------------------------------------------------------------------------------

NEW = "id,age,sex,ward\na,20,F,surgery\nb,90,M,cardiology\nc,,M,cardiology\nd,200,X,surgery\n"


@pytest.fixture
def made(sfumato, tmp_path):
    """A classifier of numbers and categories, and new records."""
    bayes({**LINE, **SEX, **WARD}).save(tmp_path / "nb.sfumato")
    (tmp_path / "new.csv").write_text(NEW)
    return tmp_path


def test_predict_writes_labels_and_probabilities(sfumato, made):
    result = sfumato("predict", "nb.sfumato", "new.csv", "--certain")
    assert result.code == 0 and result.err == ""
    release, found = sf.load(made / "nb.sfumato"), rows(made / "predictions.csv")
    points = {
        "age": [20, 90, None, 110],
        "sex": ["F", "M", "M", None],
        "ward": ["surgery", "cardiology", "cardiology", "surgery"],
    }
    assert list(found[0])[4:] == ["prediction", "probability_no", "probability_yes", "certain"]
    assert [row["prediction"] for row in found] == release.predict(points).tolist() and found[0]["prediction"] == "no"
    chances = [[float(row["probability_no"]), float(row["probability_yes"])] for row in found]
    assert np.array(chances) == pytest.approx(release.predict_proba(points))
    assert [row["certain"] == "true" for row in found] == release.certain(points).tolist()
    for words in (
        "Predicted ill for 4 of 4 rows.",
        "2 rows without a value, or with a category that is not declared: predicted from the other columns",
        "1 row outside the box, moved to its edge",
        "all at once with confidence 0.95",
    ):
        assert words in result.out, words
    data = sfumato("predict", "nb.sfumato", "new.csv", "--probability", "--force", "--json").data
    assert data["incomplete"] == 2 and data["missing"] == 0 and sum(data["labels"].values()) == 4


def test_parquet(sfumato, made):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = pa.table({"age": [20, None], "sex": ["F", None], "ward": ["surgery", "oncology"]})
    parquet.write_table(table, made / "new.parquet")
    assert sfumato("predict", "nb.sfumato", "new.parquet").code == 0
    release = sf.load(made / "nb.sfumato")
    said = release.predict({"age": [20, None], "sex": ["F", None], "ward": ["surgery", "oncology"]})
    assert [row["prediction"] for row in rows(made / "predictions.csv")] == said.tolist()
    (made / "none.csv").write_text("age,sex,ward\n")
    assert "for 0 of 0 rows" in sfumato("predict", "nb.sfumato", "none.csv", "--force").out


def test_what_is_missing_or_lies_outside():
    box = sf.Box({"age": (0, 110), "hour": sf.Periodic(0, 24), **SEX})
    columns = [np.array([50.0, -1, np.nan]), np.array([25.0, 1, 1]), ["F", None, "Q"]]
    piece = Piece.mixed(box, columns)
    assert (
        piece.points["hour"][0] == 1
        and piece.points["age"][1] == 0
        and piece.points["sex"].tolist() == ["F", None, None]
    )
    assert piece.moved.tolist() == [False, True, False] and piece.partial.tolist() == [False, True, True]
    assert piece.complete.all() and piece.at(np.array([1]))["sex"].tolist() == [None]


@pytest.mark.slow
def test_inspect_plot_and_report(sfumato, made):
    out = sfumato("inspect", "nb.sfumato").out
    for words in ("a naive Bayes classifier of ill from age, sex and ward", "ill: no, yes", "2,000 records", "Laplace"):
        assert words in out, words
    data = sfumato("inspect", "nb.sfumato", "--json").data
    assert data["kind"] == "naive-bayes" and data["classes"][0]["count"]["value"] == pytest.approx(2000)
    assert sfumato("plot", "nb.sfumato", "-o", "nb.svg").code == 0 and (made / "nb.svg").exists()
    assert sfumato("report", "nb.sfumato").code == 0
    assert "Naive Bayes classifier" in (made / "nb.html").read_text()
    sfumato("evaluate", "nb.sfumato", "new.csv").failed(2, "this needs a function; use 'sfumato predict'")


def test_names_cannot_steer_the_terminal(sfumato, tmp_path):
    odd = bayes({"age\x1b[2J": (0, 110)}, classes=("a\x1b[2J", "b"), response="ill\x1b[2J")
    odd.save(tmp_path / "odd.sfumato")
    (tmp_path / "new.csv").write_text("age\x1b[2J\n5\n")
    assert "\x1b" not in sfumato("inspect", "odd.sfumato").out
    assert "\x1b" not in sfumato("predict", "odd.sfumato", "new.csv").out
