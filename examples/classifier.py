"""Publish a classifier, ask where its labels are certain, and train one on strings.

Run it: ``python examples/classifier.py``. The patients are simulated; no real person is in them.
"""

import numpy as np
import pandas as pd

import sfumato as sf

rng = np.random.default_rng(1)
age, bmi = rng.uniform(20, 90, size=8000), rng.normal(27, 5, size=8000)
risk = 1 / (1 + np.exp(-(age - 60) / 6 - (bmi - 30) / 3))
patients = pd.DataFrame({"age": age, "bmi": bmi, "ill": np.where(rng.random(8000) < risk, "yes", "no")})

box = sf.Box({"age": (0, 110), "bmi": (10, 60)})
target = sf.KernelMachine("logistic", sf.RBF(gamma=2.0), response="ill", classes=["no", "yes"])
model = sf.release(target, patients, box, sf.Privacy(epsilon=1.0))
print(model.guarantee)
print("how:", dict(model.target))
print(f"chance of illness at 70 years, BMI 33: {model.probability([[70, 33]])[0, 1]:.2f}")
right = model.predict(patients[["age", "bmi"]], outside="clip") == patients["ill"]
print(f"right on the records themselves (not for publication): {right.mean():.3f}")

# Output noise is larger, but its law is public: this release knows where it is sure.
careful = sf.KernelMachine("hinge", sf.RBF(gamma=2.0), C=20.0, response="ill", classes=["no", "yes"])
sure = sf.release(careful, patients, box, sf.Privacy(epsilon=1.0))
print(f"certain of its label on {sure.certain_share():.0%} of the box")

# Any objects will do, if there are public ones to compare with: here words, by the letters they share.
public = ["apple", "pear", "plum", "grape", "ball", "kite", "drum", "doll"]
private = rng.choice(["apples", "pears", "plums", "grapes", "balls", "kites", "drums", "dolls"], size=4000)
fruit = np.isin(private, ["apples", "pears", "plums", "grapes"]).astype(int)


def similarity(left, right):
    """The cosine between counts of letters."""
    counts = [
        np.array([[word.count(c) for c in "abcdefghijklmnopqrstuvwxyz"] for word in words]) for words in (left, right)
    ]
    first, second = (c / np.linalg.norm(c, axis=1, keepdims=True) for c in counts)
    return first @ second.T


kernel = sf.Precomputed(similarity(public, public), bound=1.0)
words = sf.release(
    sf.KernelMachine("logistic", kernel, classes=[0, 1]),
    (similarity(private, public), fruit),
    kernel.box,
    sf.Privacy(epsilon=1.0),
)
print(
    "fruit?", dict(zip(["plums", "drum"], words.predict(similarity(["plums", "drum"], public)).tolist(), strict=True))
)
