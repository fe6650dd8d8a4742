"""The thresholds by which verdicts are reached, each with its unit, its reason and what was measured.

What a tensor itself may be off by is measured when gold is made (`gold/calibration.py`, `gold/tolerances.py`): that is
a tolerance. What stands here says what follows from it. Lowering or raising a number here changes verdicts that courses
have given: `make submissions` and `make behaviour` show which. So that cached ones are not used, increase `METHOD` in
`courses/grade/grader.py` and in `mutants/cache.py`.
"""

from __future__ import annotations

import math

# --- values that a case has recorded, in units of their tolerance unless something else is said ----------------------

SHARPER, FINEST = 0.1, 1e-6
"""In float64 a tolerance is multiplied by the first, but never below the second (of the tensor's size): there is no
rounding there, while details on which right answers differ (an epsilon in clipping) remain. The weakest bug ever
measured is three times as large."""
FINEST_OF_PARITY = 3e-7
"""The smallest tolerance in float64 between two models, of a tensor's size. Two right models agree to 1e-12 there, or
to 6e-8 where they keep a table that was computed in float32; a wrong epsilon (1e-6 for 1e-12) makes a norm 5e-7 off."""
FINER = 2.0**-29
"""The share of the noise of scores in float32 that is left in a run in float64, which has 29 bits more. Coarser ones
have less left of it; a choice is then a tie a little sooner there, which is doubt, and not a pass."""
ROUNDING = 30.0
"""How far off a result in float32 may be if it is right in float64: that is a different order of operations, not a bug.
It does not excuse code that computes in float16, which a run in float64 does not show. Why it is 30, and not 20 or 50,
was not written down."""
NEAR = 3.0
"""Up to where a result is close, if float64 does not decide: tolerances are three times the noise that was seen, and
right work has been 1.04 times as far off as allowed. No bug has been measured so near."""
NEAR_BY_FEW_TRIALS = 4.0
"""Up to where more trials of a parity's noise may decide. The noise of a normalisation that computes in float32 inside
a float64 model is 1.02 to 1.55 times what two trials show."""
EXAMINED = 0.5
"""A result that uses more of its tolerance is examined for coarser dtypes inside: rounding to float32 uses 0.3."""
ROUNDED, ROUNDED_UNITS = 0.02, 1000
"""An error above the first (of the tensor's size), or above the second in units of a dtype's eps, is not due to
rounding to that dtype."""
FINE_MOVE, COARSE_MOVE = 2.0**-8, 0.75
"""How far inputs are moved in float64 to find out whether code rounds inside, in units of its own dtype's last place.
By the first, few numbers that are rounded move, and those by 256 times as much or more: enough to outweigh all layers
around them. By 2**-12 none moved in small tensors; by 2**-4 one rounding among 32 layers shows by 0.3. By the second,
every other number moves, and hardly more kinks are crossed than by the first."""
LEAST_COARSE_MOVE = 2.0**-18
"""The coarse move is no smaller than this share of a number: 32 last places of float32. So that of what is 100 times as
large is crossed, as by `x + 300`, and even `sin(1000 x)` bends by no more than 0.02."""
ROUNDS_INSIDE = 0.4
"""How far apart the responses to both moves are, as a share, from which code rounds inside. Norms, attention and MLPs
in bfloat16, float16, TF32 and float32, alone and as one of up to 32 layers: at least 0.8 where it rounds, at most 0.1
where it does not, mistakes included (`tests/unit/judge/test_follows_dtype.py`)."""
FLOORS_INSIDE = (1.0, 4.0)
"""What code that rounds inside may be off by in any case, in units of its dtype's last place: as a whole, and at its
farthest element, which may be four times as large as the others. One rounding is 0.2 to 0.3 as a whole."""
STEP_LIMITS = (1.0, 10.0, 1000.0, math.inf)
"""Upper limits of the steps in which students are told how far an answer is off. More steps, or a number, would tell
gold to somebody who hands in often, since their own values are known to them."""
CLEAR = 1e-3
"""Relative error that any tolerance sees. Of cases that run as little, the first that is so far off is explained: an
epsilon in the wrong place was once told by the case in which it is half a millionth off. Of several conditions that
show a mutant, the first that shows it so clearly is advised, since it is the easiest to add."""

# --- calls in a trace, as relative errors -----------------------------------------------------------------------------

CLOSE = 5e-5
"""Up to where two tensors of a trace count as the same: ten times the noise of float32 in a deep model, and far below
the effect of a bug. A kit that runs without goldsmith has the same (`courses/handout/kit_check.py`)."""
MAX_CALL_NOISE = 0.1
"""From where a call counts as wrong however noisy it is: what moves so far shows nothing."""
MAX_CALL_ROUNDING = 1e-3
"""What rounding to float32 alone may cause in one call: `sin(1000 t)`, written in two right ways, is off by 7e-5,
angles of rotary embeddings at position 4,000 by 2e-4."""
EXPLAINED = 100.0
"""How many times farther off than the call that causes it a case may be. Nothing between the two amplifies more unless
it is unstable itself, and then noise was measured."""
AMPLIFIED = 20.0
"""How many times farther off than its input (which is `CLOSE` to gold's, or nothing is said) a call's output may be and
still be explained by it. Disturbed at random, a transformer's layers, linear maps and convolutions amplify 1 time,
attention with weights ten times as large as at init 7 times, a layer norm whose input's mean is ten times its spread 10
times, `exp(5 x)` 11 times; twice that is allowed. `sin(30 x)` amplifies 30 times: of such a call the trace says
nothing, and it is made alone."""
CLEARLY = 10.0
"""How many times what a trace would miss an error is that it cannot have missed."""
GRADIENTS_FAR = 1e-3
"""From where gradients of a case count as different, by a few projections in the case's own dtype. What right
ones are off by was not written down; a wrong sign or factor moves them by their whole size."""
GRADIENTS_FAR_IN_PARITY = 1e-5
"""The same between two models, whose gradients are compared as a whole, and in float64 where that is possible."""
MAX_CASES_ALONE = 4
"""Number of cases in which modules are run alone, one of each kind: a kind's code is the same everywhere."""
MAX_HUNG_CALLS = 3
"""Number of calls that time out before no more are made: each takes as long as a whole case may."""

# --- two whole models -------------------------------------------------------------------------------------------------

ORGANISED_DIFFERENTLY = 1e-9
"""Two models whose outputs agree to this in float64 compute the same, whatever is inside: right ones agree to 1e-12."""
FAR_FROM_ALL = 10.0
"""How many times as far as most references are from each other one must be from each of these to be singled out, where
all differ by more than noise: a choice, not a measurement. Distance alone tells nothing: of five right ways to write
attention in float32 and bfloat16, one was up to 950 times as far from two others as these from each other, and all
agree by their noise. What is past that by little is not singled out either."""
AGREEING = 1e-5
"""Relative distance of outputs in float64 up to which an arrangement of weights is taken for the right one. It only
chooses between arrangements; what is chosen is judged by the noise that is measured."""
SAME = 1e-9
"""Relative deviation in float64 up to which a mutant is not told apart from the solution. The weakest real mistake ever
measured is three thousand times as large."""
IN_STEP = {"float64": 1e-9, "float32": 1e-4, "float16": 2e-2, "bfloat16": 1e-1}
"""Judged in step: distance from the reference, by dtype, from which a module that is right by itself passes an error
on."""
IN_STEP_ALONE = {"float64": 1e-11, "float32": 1e-6, "float16": 2e-3, "bfloat16": 1.5e-2}
"""Distance up to which a module that was given the reference's values agrees without further question: a few
units in the last place of its dtype. Up to `IN_STEP`, it depends on the reference's noise. How far right modules of
large models are off was not written down."""
