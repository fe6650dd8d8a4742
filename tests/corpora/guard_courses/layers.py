"""NumPy: notebooks that call layers in packages without `__init__.py`."""

from __future__ import annotations

from corpora.guard_courses.course import GuardedCourse, code, notebook

LAYERS = code('''
    from builtins import range
    import numpy as np


    def affine_forward(x, w, b):
        """Returns the output, and what `affine_backward` needs."""
        out = None
        ###########################################################################
        # TODO: Implement the affine forward pass. Store the result in out.       #
        ###########################################################################
        pass
        ###########################################################################
        #                             END OF YOUR CODE                            #
        ###########################################################################
        cache = (x, w, b)
        return out, cache


    def affine_backward(dout, cache):
        x, w, b = cache
        dx, dw, db = None, None, None
        ###########################################################################
        # TODO: Implement the affine backward pass.                               #
        ###########################################################################
        pass
        ###########################################################################
        #                             END OF YOUR CODE                            #
        ###########################################################################
        return dx, dw, db


    def relu_forward(x):
        out = None
        ###########################################################################
        # TODO: Implement the ReLU forward pass.                                  #
        ###########################################################################
        pass
        ###########################################################################
        #                             END OF YOUR CODE                            #
        ###########################################################################
        cache = x
        return out, cache


    def conv_forward_naive(x, w, b, conv_param):
        """For the next assignment."""
        out = None
        ###########################################################################
        # TODO: Implement the convolutional forward pass.                         #
        ###########################################################################
        pass
        ###########################################################################
        #                             END OF YOUR CODE                            #
        ###########################################################################
        cache = (x, w, b, conv_param)
        return out, cache
''')
AFFINE = "    out = x.reshape(x.shape[0], int(np.prod(x.shape[1:]))) @ w + b[None, :]\n"
AFFINE_BACK = (
    "    rows = x.reshape(x.shape[0], -1)\n    dw = np.dot(rows.T, dout)\n    db = np.sum(dout, axis=0)\n"
    "    dx = np.dot(dout, w.T).reshape(*x.shape)\n"
)
RELU = "    out = np.where(x > 0, x, np.zeros_like(x))\n"
LAYERS_DONE = (
    LAYERS.replace("    pass\n", AFFINE, 1).replace("    pass\n", AFFINE_BACK, 1).replace("    pass\n", RELU, 1)
)
GRADIENT_CHECK = code('''
    import numpy as np


    def numeric_gradient(f, x, h=1e-5):
        """Provided: differences in the middle."""
        grad = np.zeros_like(x)
        it = np.nditer(x, flags=["multi_index"], op_flags=["readwrite"])
        while not it.finished:
            at = it.multi_index
            old = x[at]
            x[at] = old + h
            above = f(x)
            x[at] = old - h
            below = f(x)
            x[at] = old
            grad[at] = (above - below) / (2 * h)
            it.iternext()
        return grad
''')
KNN = code("""
    from builtins import object
    import numpy as np


    class KNearestNeighbor(object):
        def __init__(self):
            pass

        def train(self, X, y):
            self.X_train = X
            self.y_train = y

        def compute_distances_one_loop(self, X):
            num_test = X.shape[0]
            num_train = self.X_train.shape[0]
            dists = np.zeros((num_test, num_train))
            for i in range(num_test):
                # *****START OF YOUR CODE (DO NOT DELETE/MODIFY THIS LINE)*****
                pass
                # *****END OF YOUR CODE (DO NOT DELETE/MODIFY THIS LINE)*****
            return dists

        def predict_labels(self, dists, k=1):
            num_test = dists.shape[0]
            y_pred = np.zeros(num_test)
            for i in range(num_test):
                closest_y = []
                # *****START OF YOUR CODE (DO NOT DELETE/MODIFY THIS LINE)*****
                pass
                # *****END OF YOUR CODE (DO NOT DELETE/MODIFY THIS LINE)*****
            return y_pred
""")
DISTANCES = "dists[i] = np.sqrt(np.square(self.X_train - X[i][None]).sum(axis=tuple(range(1, X.ndim))))\n"
LABELS = (
    "closest_y = self.y_train[np.argsort(dists[i], kind='stable')[:k]]\n"
    "            y_pred[i] = np.bincount(closest_y).argmax()\n"
)
KNN_DONE = KNN
for _answer in (DISTANCES, LABELS):
    KNN_DONE = KNN_DONE.replace(
        "            # *****START OF YOUR CODE (DO NOT DELETE/MODIFY THIS LINE)*****\n            pass\n",
        f"            {_answer}",
        1,
    )
SETUP_CELL = """
    import random
    import numpy as np
    import matplotlib.pyplot as plt

    %matplotlib inline
    plt.rcParams["figure.figsize"] = (10.0, 8.0)
    plt.rcParams["image.interpolation"] = "nearest"
    %load_ext autoreload
    %autoreload 2
"""


def knn_notebook(answer: str, words: str) -> str:
    return notebook(
        "#!md\n# Nearest neighbours\n",
        SETUP_CELL,
        """
        from course.classifiers.k_nearest_neighbor import KNearestNeighbor

        classifier = KNearestNeighbor()
        classifier.train(X_train, y_train)
        dists = classifier.compute_distances_one_loop(X_test)
        print(dists.shape)
        plt.imshow(dists, interpolation="none")
        plt.show()
        """,
        f"""
        num_folds = 5
        k_choices = [1, 3, 5, 8, 10, 12, 15, 20, 50, 100]
        X_train_folds = []
        # TODO: split up the training data into folds
        {answer}
        k_to_accuracies = {{}}
        for k in sorted(k_to_accuracies):
            for accuracy in k_to_accuracies[k]:
                print("k = %d, accuracy = %f" % (k, accuracy))
        """,
        f"#!md\n**Inline question** Why are rows bright?\n\n$\\color{{blue}}{{\\textit Your Answer:}}$\n\n{words}\n",
    )


NUMPY = GuardedCourse(
    assignment="assignment1",
    files={
        "README.md": "# Vision with NumPy\n",
        "assignment1/README.md": "Details about this assignment are on the page.\n",
        "assignment1/collectSubmission.sh": "#!/bin/bash\nzip -r a1_code_submission.zip course\n",
        "assignment1/knn.ipynb": knn_notebook("pass", ""),
        "assignment1/course/layers.py": LAYERS,
        "assignment1/course/gradient_check.py": GRADIENT_CHECK,
        "assignment1/course/classifiers/k_nearest_neighbor.py": KNN,
        "assignment2/README.md": "Details about this assignment are on the page.\n",
        "assignment2/course/layers.py": LAYERS,
        "assignment2/course/gradient_check.py": GRADIENT_CHECK,
        "solutions/assignment1/knn.ipynb": knn_notebook(
            "X_train_folds = np.array_split(X_train, num_folds)", "They are far from all others."
        ),
        "solutions/assignment1/course/layers.py": LAYERS_DONE,
        "solutions/assignment1/course/gradient_check.py": GRADIENT_CHECK,
        "solutions/assignment1/course/classifiers/k_nearest_neighbor.py": KNN_DONE,
        "solutions/assignment2/course/layers.py": LAYERS_DONE,
    },
    answers=(AFFINE_BACK, DISTANCES + LABELS.replace("            ", "")),
    starters=(
        "assignment1/course/layers.py",
        "assignment1/course/classifiers/k_nearest_neighbor.py",
        "assignment1/knn.ipynb",
    ),
    handed_in="handins/assignment1",
)
