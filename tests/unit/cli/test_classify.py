"""The command that publishes a classifier, and the other commands on what it publishes."""

import json
from pathlib import Path

import numpy as np
import pytest

import sfumato as sf
from sfumato.cli.classify import kernel_of, strength_of
from sfumato.cli.columns import labelled_box
from sfumato.errors import ParameterError
from sfumato.faces import face_of

LABEL = ("--label", "disease=no,yes")
AGE = ("--column", "age:0:110")
QUICK = (*LABEL, *AGE, "--epsilon", "1", "--landmarks", "5")
# So much epsilon that noise moves the function by a thousandth: far from the boundary labels are as good as fixed.
SURE = (*AGE, "--epsilon", "1000", "--C", "40", "--landmarks", "5")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Made-up records: the older, the more often ill."""
    folder = tmp_path_factory.mktemp("learners")
    generator = np.random.default_rng(5)
    for name, count in (("cohort.csv", 600), ("open.csv", 200)):
        age, bmi = generator.uniform(0, 110, count).round(1), generator.normal(27, 4, count).round(1)
        ill = generator.random(count) < 1 / (1 + np.exp(-(age - 55) / 8))
        lines = ["patient,age,bmi,hour,dose,disease,flag,stage"]
        for i, (a, b, d) in enumerate(zip(age, bmi, ill, strict=True)):
            stage = "abc"[int(a // 40)]
            lines.append(f"{i // 2},{a},{b},{i % 24},{i % 7},{'yes' if d else 'no'},{int(d)},{stage}")
        lines[7] = "3,,25,1,1,yes,1,a"  # a missing value
        lines[8] = "3,50,25,1,1,unknown,9,a"  # a label that was not declared
        (folder / name).write_text("\n".join(lines) + "\n")
    (folder / "columns.toml").write_text(
        "[columns.age]\nlow = 0\nhigh = 110\n[columns.bmi]\nlow = 10\nhigh = 60\n"
        "[columns.flag]\nlow = 0\nhigh = 1\n"
        '[columns.disease]\ncategories = ["no", "yes"]\n'
    )
    return folder


@pytest.fixture
def here(files, sfumato, tmp_path):
    """The records beside a runner of commands."""
    for name in ("cohort.csv", "open.csv", "columns.toml"):
        (tmp_path / name).write_text((files / name).read_text())
    return tmp_path


# --- publishing -------------------------------------------------------------------------------------------------


def test_what_a_person_reads(sfumato, here):
    result = sfumato("classify", "cohort.csv", *QUICK, "-o", "ill.sfumato")
    assert result.code == 0 and result.err == ""
    for words in (
        "Published a classifier of disease from age.",
        "1-differential privacy for replacing one row",
        "no outcome more than 2.719 times as likely",
        "disease: no (",
        "yes where the decision function is positive",
        "logistic",
        "whitened directions at 5 public landmarks",
        "(by a public rule): times the mean loss",
        "scikit-learn's C multiplies the sum",
        "objective: noise was put into what is minimised",
        "chosen because the loss, the grant and C allow it",
        "% of the box the label is surely the one that no noise would have given (confidence 0.95)",
        "limits are wide",
        "nothing keeps count",
        "ill.sfumato  the release, for anybody",
    ):
        assert words in result.out, words
    release = sf.load(here / "ill.sfumato")
    assert release.classes == ("no", "yes") and release.box == sf.Box({"age": (0, 110)})


def test_what_a_program_reads(sfumato, here):
    data = sfumato("classify", "cohort.csv", *QUICK, "--loss", "hinge", "--C", "50", "--json").data
    assert data["written"] == "model.sfumato" and data["plot"] is None and data["left"] is None
    assert data["kind"] == "machine" and data["loss"] == "hinge" and data["C"] == 50 and data["mechanism"] == "output"
    assert data["response"] == {"name": "disease", "classes": ["no", "yes"], "range": None}
    assert data["objective"] is None and data["public_test"] is None
    assert 0 <= data["certain"]["share"] <= 1 and data["certain"]["confidence"] == 0.95
    assert "hinge has a corner" in sfumato("classify", "cohort.csv", *QUICK, "--loss", "hinge", "-o", "b.sfumato").out


def test_a_public_test_is_counted_and_reported(sfumato, here):
    asked = (*QUICK, "--public-test", "open.csv", "--report", "m.html", "--plot", "m.png")
    result = sfumato("classify", "cohort.csv", *asked)
    assert result.code == 0, result.err
    release = sf.load(here / "model.sfumato")
    rows = [line.split(",") for line in (here / "open.csv").read_text().splitlines()[1:]]
    known = [(float(row[1]), row[5]) for row in rows if row[1] and row[5] in ("no", "yes")]
    said = release.predict([age for age, _ in known])
    right = sum(label == told for (_, label), told in zip(known, said, strict=True))
    truly = [sum(label == name for _, label in known) for name in ("no", "yes")]
    wrong = sum(label == "no" and told == "yes" for (_, label), told in zip(known, said, strict=True))
    assert f"open.csv: {100 * right / len(known):.3g} % of {len(known)} labels are right" in result.out
    assert f"its most frequent label: {100 * max(truly) / len(known):.3g} %" in result.out
    assert f"of {truly[0]} no, predicted: no {truly[0] - wrong}, yes {wrong}" in result.out
    assert "left out: 2 records without a declared label or a value" in result.out
    assert "the file must be public" in result.out
    page = (here / "m.html").read_text()
    assert "On public records" in page and "These counts carry no noise" in page
    assert (here / "m.png").read_bytes().startswith(b"\x89PNG")


def test_a_public_test_as_data(sfumato, here):
    (here / "few.csv").write_text("age,disease\n1,no\n109,yes\n50,other\n")
    told = sfumato("classify", "cohort.csv", *LABEL, *SURE, "--public-test", "few.csv", "--json").data["public_test"]
    assert told["counts"] == [[1, 0], [0, 1]] and told["accuracy"] == 1 and told["baseline"] == 0.5
    assert told["used"] == 2 and told["left_out"] == 1 and told["file"] == "few.csv"
    (here / "none.csv").write_text("age,disease\n1,other\n")
    result = sfumato("classify", "cohort.csv", *QUICK, "--public-test", "none.csv", "--force")
    assert "none.csv: no complete record with a declared label" in result.out
    empty = sfumato("classify", "cohort.csv", *QUICK, "--public-test", "none.csv", "--force", "--json").data
    assert empty["public_test"]["accuracy"] is None


@pytest.mark.slow
def test_more_columns_more_classes_and_a_kernel_by_default(sfumato, here):
    columns = ("--column", "age:0:110", "--column", "bmi:10:60", "--column", "hour:0:24", "--column", "dose:0:7")
    asked = ("--label", "stage=a,b,c", *columns, "--epsilon", "1", "--delta", "1e-6")
    result = sfumato("classify", "cohort.csv", *asked, "--report", "m.html", "--plot", "m.svg")
    assert result.code == 0, result.err
    assert "RBF(gamma=" in result.out or "LinearKernel(constant=" in result.out
    assert "stage: a (" in result.out and "the class whose function is largest" in result.out
    assert len(sf.load(here / "model.sfumato").weights) == 3


def test_classes_that_are_numbers(sfumato, here):
    assert sfumato("classify", "cohort.csv", "--label", "flag=0,1", *SURE).code == 0
    assert sf.load(here / "model.sfumato").predict([5, 105]).tolist() == [0, 1]


def test_a_box_file_names_columns_and_classes(sfumato, here):
    asked = ("--label", "disease", "--box", "columns.toml", "--column", "age", "--epsilon", "1", "--landmarks", "5")
    assert sfumato("classify", "cohort.csv", *asked).code == 0
    assert sf.load(here / "model.sfumato").classes == ("no", "yes")


def test_an_account_pays_and_says_what_is_left(sfumato, here):
    sfumato("ledger", "create", "b.db", "clinic", "--epsilon", "1.5")
    paying = ("--ledger", "b.db", "--account", "clinic")
    assert "epsilon 0.5 left of epsilon 1.5" in sfumato("classify", "cohort.csv", *QUICK, *paying).out
    again = ("classify", "cohort.csv", *QUICK, "-o", "b.sfumato")
    sfumato(*again, *paying).failed(5, "nothing was released")
    assert not (here / "b.sfumato").exists()
    sfumato(*again, "--ledger", "b.db").failed(2, "--account")
    sfumato(*again, "--ledger", "nothing.db", "--account", "clinic").failed(4, "there is no such ledger")
    sfumato("classify", "cohort.csv", *QUICK, *paying).failed(2, "--output: model.sfumato: is there already")


def test_a_plan_reads_and_spends_nothing(sfumato, here):
    sfumato("ledger", "create", "b.db", "clinic", "--epsilon", "1.5")
    (here / "cohort.csv").write_text("age,disease\nnot a number that anybody reads,yes\n")
    asked = ("classify", "cohort.csv", *QUICK, "--plan", "--expected-rows", "500")
    result = sfumato(*asked, "--ledger", "b.db", "--account", "clinic")
    assert "nothing was spent" in result.out and "in the objective" in result.out
    assert "would leave clinic: epsilon 0.5 left" in result.out
    data = sfumato(*asked, "--json").data
    assert data["coefficients"] == 5 and data["noise_error"] > 0 and data["fits"] is None
    assert "epsilon 1.5 left" in sfumato("ledger", "remaining", "b.db").out
    assert not (here / "model.sfumato").exists()


def test_persons_rho_and_private_numbers_of_rows(sfumato, here):
    who = ("--person", "patient:2", "--neighbours", "add-remove", "--expected-rows", "400")
    data = sfumato("classify", "cohort.csv", *QUICK, *who, "--json").data
    assert data["guarantee"]["unit"] == {"column": "patient", "max_rows": 2} and data["mechanism"] == "output"
    rho = sfumato("classify", "cohort.csv", *LABEL, *AGE, "--rho", "0.5", "--landmarks", "5", "--force")
    assert "needs --epsilon and single rows" in rho.out and rho.code == 0


def test_the_mechanism_can_be_asked_for(sfumato, here):
    result = sfumato("classify", "cohort.csv", *QUICK, "--mechanism", "output", "--loss", "smoothed-hinge")
    assert "output: noise was added to the learner" in result.out and "as asked for" in result.out
    dear = sfumato("classify", "cohort.csv", *QUICK, "--C", "1e6", "-o", "dear.sfumato")
    assert "would err more, or cannot be had for this epsilon and C" in dear.out
    cheap = sfumato("classify", "cohort.csv", *QUICK, "--C", "1", "-o", "cheap.sfumato", "--json").data
    assert cheap["mechanism"] in ("output", "objective") and cheap["C"] == 1


@pytest.mark.few(20)
@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([*AGE], "Missing option '--label'"),
        ([*AGE, "--label", "disease"], "--label must list the categories, such as --label disease=A,B"),
        ([*AGE, "--label", "disease=yes"], "--label disease=yes: categories must be two or more"),
        ([*AGE, "--label", "disease=yes,yes"], "categories must be two or more different values"),
        ([*AGE, "--label", "disease=yes,"], "it must be NAME=CATEGORY"),
        ([*AGE, "--label", "=yes,no"], "it must be NAME=CATEGORY"),
        ([*AGE, "--label", "sick=yes,no"], "--label sick: cohort.csv has no such column, it has patient, age"),
        ([*LABEL], "a label told from which columns? give --column"),
        ([*LABEL, "--column", "age"], "--column must be NAME:LOW:HIGH"),
        ([*LABEL, "--column", "age:110:0"], "low must be below high"),
        ([*LABEL, *AGE, *AGE], "--column age is given twice"),
        ([*LABEL, "--column", "weight:0:200"], "--column weight: cohort.csv has no such column"),
        (["--label", "flag=0,1", "--column", "flag:0:1"], "--column flag is the label itself"),
        ([*LABEL, "--box", "nothing.toml"], "nothing.toml: there is no such file"),
        ([*LABEL, *AGE, "--loss", "squared"], "--loss must be one of 'logistic', 'hinge', 'smoothed-hinge'"),
        ([*LABEL, *AGE, "--kernel", "cubic"], "--kernel must be one of 'rbf', 'matern', 'polynomial', 'linear'"),
        ([*LABEL, *AGE, "--gamma", "0"], "--gamma must be positive"),
        (
            [*LABEL, *AGE, "--gamma", "1", "--kernel", "linear"],
            "--gamma goes with --kernel rbf or polynomial, not with",
        ),
        ([*LABEL, *AGE, "--C", "strong"], "--C must be auto or a positive number, got 'strong'"),
        ([*LABEL, *AGE, "--C", "0"], "--C must be positive"),
        ([*LABEL, *AGE, "--C", "nan"], "--C must be"),
        ([*LABEL, *AGE, "--mechanism", "both"], "--mechanism must be one of 'auto', 'descent', 'objective', 'output'"),
        ([*LABEL, *AGE, "--mechanism", "objective", "--loss", "hinge"], "needs a twice differentiable loss"),
        ([*LABEL, *AGE, "--mechanism", "objective", "--person", "patient:2"], "needs epsilon (not rho) and unit='row'"),
        ([*LABEL, *AGE, "--mechanism", "objective", "--C", "1e6"], "the curvature alone costs epsilon"),
        ([*LABEL, *AGE, "--C", "1e12"], "--C must not exceed"),
        ([*LABEL, *AGE, "--landmarks", "0"], "--landmarks: count must be"),
        ([*LABEL, *AGE, "--landmarks", "5000"], "--landmarks: there may be at most 4096 landmarks"),
        ([*LABEL, *AGE, "--landmarks", "5", "--kernel", "linear"], "--landmarks goes with other kernels"),
        ([*LABEL, *AGE, "--expected-rows", "0"], "--expected-rows must be at least 1"),
        ([*LABEL, *AGE, "--neighbours", "all"], "--neighbours must be one of"),
        ([*LABEL, *AGE, "--delta", "2"], "--delta must lie in [0, 1)"),
        ([*LABEL, *AGE, "--rho", "1"], "either --epsilon or --rho"),
        ([*LABEL, *AGE, "--person", "patient"], "--person must be COLUMN:MAXROWS"),
        ([*LABEL, *AGE, "--plot", "picture.gif"], "--plot: picture.gif: the name of a picture must end in"),
        ([*LABEL, *AGE, "-o", "no/where.sfumato"], "--output: no/where.sfumato: there is no folder 'no'"),
        ([*LABEL, *AGE, "-o", "cohort.csv", "--force"], "--output: cohort.csv is the data"),
        ([*LABEL, *AGE, "--report", "model.sfumato"], "--report: model.sfumato is the file of --output"),
        (
            [*LABEL, *AGE, "--public-test", "open.csv", "--report", "open.csv", "--force"],
            "--report: open.csv is the file of --public-test",
        ),
        ([*LABEL, *AGE, "--public-test", "cohort.csv"], "--public-test: cohort.csv is the private data"),
        ([*LABEL, *AGE, "--public-test", "columns.toml"], "--public-test: columns.toml: the name must end in"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_is_spent(sfumato, here, args, message):
    sfumato("classify", "cohort.csv", "--epsilon", "1", *args).failed(2, message)
    assert sorted(p.name for p in here.iterdir()) == ["cohort.csv", "columns.toml", "open.csv"]


def test_other_refusals(sfumato, here):
    sfumato("classify", "cohort.csv", *LABEL, *AGE).failed(2, "give --epsilon E")
    sfumato("classify", "nothing.csv", *QUICK).failed(3, "nothing.csv: there is no such file")
    sfumato("classify", "cohort.txt", *QUICK).failed(2, "the name must end in")
    sfumato("classify", "cohort.csv", *QUICK, "--public-test", "no.csv").failed(3, "--public-test: no.csv: there is no")
    (here / "half.csv").write_text("age\n1\n")
    sfumato("classify", "cohort.csv", *QUICK, "--public-test", "half.csv").failed(
        2, "--public-test: half.csv: no column 'disease', which the learner needs; it has 'age'"
    )
    many = [f"x{i}:0:1" for i in range(4)]
    with pytest.raises(ParameterError, match="linear, which is the default for more than 3 columns"):
        kernel_of(None, 0.5, labelled_box(many, "y=a,b", None, here / "cohort.csv")[0])


def test_a_hard_link_to_the_private_data_is_the_private_data(sfumato, here):
    (here / "copy.csv").hardlink_to(here / "cohort.csv")
    sfumato("classify", "cohort.csv", *QUICK, "--public-test", "copy.csv").failed(2, "is the private data")


def test_an_interrupt_leaves_nothing_behind(sfumato, here, monkeypatch):
    def stop(*args, **settings):
        raise KeyboardInterrupt

    monkeypatch.setattr(sf, "release", stop, raising=False)
    sfumato("classify", "cohort.csv", *QUICK).failed(130, "interrupted")
    assert not (here / "model.sfumato").exists()


# --- options ----------------------------------------------------------------------------------------------------


def test_boxes_and_labels(files):
    data, toml = files / "cohort.csv", files / "columns.toml"
    box, name, classes = labelled_box([], "disease", toml, data)
    assert box.names == ("age", "bmi", "flag") and name == "disease" and classes == ("no", "yes")
    box, name, classes = labelled_box([], "flag=0,1", toml, data)  # a label is no column to predict from
    assert box.names == ("age", "bmi", "disease") and classes == (0, 1)
    box, *_ = labelled_box([f"x{i}:0:1" for i in range(20)], "flag=0,1", None, data)
    assert box.dimension == 20


def test_kernels_and_strengths():
    few, many = sf.Box([(0, 1)] * 3), sf.Box([(0, 1)] * 4)
    assert kernel_of(None, None, few) == kernel_of(None, None, many) == "auto" and kernel_of(None, 3.0, few) == sf.RBF(
        3.0
    )
    assert kernel_of("rbf", 2.0, many) == sf.RBF(2.0)
    assert kernel_of("polynomial", 2.0, few) == sf.Polynomial(gamma=2.0) and kernel_of("matern", None, few) == "matern"
    assert strength_of("auto") == "auto" and strength_of("2e3") == 2000.0


# --- the other commands -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def learners(files):
    """A classifier with noise in its output, one with noise in its objective, and a regression."""
    box, privacy = sf.Box({"age": (0, 110)}), sf.Privacy(epsilon=1.0)
    told = {"response": "disease", "classes": ["no", "yes"]}
    for name, target in (
        ("output", sf.KernelMachine("hinge", "linear", **told)),
        ("objective", sf.KernelMachine("logistic", "linear", prior="even", **told)),
        ("number", sf.Ridge(response="bmi", range=(10, 60), mechanism="output")),
    ):
        sf.release(target, files / "cohort.csv", box, privacy).save(files / f"{name}.sfumato")
    return files


def test_inspect(sfumato, learners):
    out = sfumato("inspect", learners / "output.sfumato").out
    for words in (
        "a classifier of disease from age",
        "hinge",
        "output: noise was added",
        "K-norm noise of the L2 ball",
    ):
        assert words in out, words
    assert "by a public rule" not in out  # the file does not say who chose C
    inside = sfumato("inspect", learners / "objective.sfumato").out
    assert "in the objective: K-norm noise, scale" in inside and "epsilon 0.98" in inside
    assert "the learner moved by at most" in inside and "what the solver left open" in inside
    number = sfumato("inspect", learners / "number.sfumato").out
    assert "a regression of bmi from age" in number and "bmi, a number from 10 to 60" in number
    assert "certain" not in number
    data = sfumato("inspect", learners / "objective.sfumato", "--json").data
    assert data["mechanism"] == "objective" and data["objective"]["epsilon"] == 0.98 and data["loss"] == "logistic"


def test_a_kernel_that_no_file_holds(sfumato, files):
    kernel = sf.UserKernel(lambda x, z: np.exp(-((x[:, :1] - z[:, 0]) ** 2)), 1.0)
    target = sf.KernelMachine("logistic", kernel, response="disease", classes=["no", "yes"])
    release = sf.release(
        target, files / "cohort.csv", sf.Box({"age": (0, 110)}), sf.Privacy(1.0), basis=sf.Landmarks(5)
    )
    release.save(files / "own.sfumato")
    assert "unknown: its kernel is not in the file" in sfumato("inspect", files / "own.sfumato").out
    sfumato("plot", files / "own.sfumato", "-o", "x.png").failed(2, "attach the kernel")
    sfumato("predict", files / "own.sfumato", files / "open.csv").failed(2, "attach the kernel")
    lost = sf.load(files / "own.sfumato")
    assert face_of(lost).data()["certain"] is None and dict(face_of(lost).rows())["certain"][0].startswith("unknown")


def test_plot_report_and_evaluate(sfumato, learners, tmp_path):
    path = learners / "objective.sfumato"
    assert sfumato("plot", path, "-o", "m.png").out == "m.png\n"
    assert sfumato("report", path, "-o", "m.html").out == "m.html\n"
    assert "What it can and cannot tell" in Path(tmp_path / "m.html").read_text()
    sfumato("evaluate", path, "-", input="age\n1\n").failed(2, "this needs a function; use 'sfumato predict'")
    sfumato("plot", path, "--group", "a").failed(2, "this release has no groups")


@pytest.mark.slow  # those of other commands start and end the same way
def test_a_process_of_its_own(shell, files, tmp_path):
    result = shell("classify", files / "cohort.csv", *QUICK, "--json")
    assert result.returncode == 0 and result.stderr == ""
    assert json.loads(result.stdout)["kind"] == "machine" and (tmp_path / "model.sfumato").exists()
