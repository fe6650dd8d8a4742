"""Images to patches."""


def patches(images, size):
    cut = images.unfold(2, size, size).unfold(3, size, size)
    return cut.permute(0, 2, 3, 1, 4, 5).flatten(3).flatten(1, 2)
