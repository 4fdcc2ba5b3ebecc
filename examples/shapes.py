"""Images: a label for every pixel
===============================

Noisy shapes. A pixel alone says little; a lattice joins it with its neighbours, and learns how much these agree.

Run it: `python examples/shapes.py [number of images]`
"""

from __future__ import annotations

import sys

import numpy as np
from matplotlib.figure import Figure
from sklearn.linear_model import LogisticRegression

from hedgerow import LatticeCRF
from hedgerow.datasets import make_shapes

n_images = int(sys.argv[1]) if len(sys.argv) > 1 else 12
images, masks = make_shapes(n_images + 1, size=48, noise=0.7, random_state=1)
*train, new = images
*train_masks, truth = masks

# %%
lattice = LatticeCRF().fit(train, train_masks)
alone = LogisticRegression().fit(np.concatenate(train).reshape(-1, 1), np.concatenate(train_masks).ravel())
found = {"pixels alone": alone.predict(new.reshape(-1, 1)).reshape(truth.shape), "lattice": lattice.predict([new])[0]}
for name, mask in found.items():
    print(f"{name}: {(mask == truth).mean():.1%} of the pixels are right")

# %%
figure = Figure(figsize=(9, 2.1), layout="constrained")
pictures = {"image": new, "truth": truth, **found, "probability": lattice.predict_proba([new])[0][..., 1]}
for ax, (name, picture) in zip(figure.subplots(1, 5), pictures.items()):
    ax.imshow(picture, cmap="gray", interpolation="nearest")
    ax.set_title(name, fontsize=9)
    ax.set_axis_off()
