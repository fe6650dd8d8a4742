"""The setting of a run: what the user asks for that rounding depends on. A ruler is measured in one, and used in it."""

from __future__ import annotations

import msgspec

from goldsmith.runs.conditions import OWN, Conditions


class Setting(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A device, a dtype and how products and models are computed there. Gold's tolerances are those of the plain one,
    which has no name."""

    device: str = "cpu"
    """The kind of device, such as `cuda`."""
    dtype: str = OWN
    """The floating dtype of inputs and weights; `own` leaves them as gold has them."""
    tf32: bool = False
    """Whether products of float32 may be computed in TF32."""
    compiled: bool = False
    """Whether models are compiled."""

    @property
    def is_plain(self) -> bool:
        return self == PLAIN_SETTING

    @property
    def name(self) -> str:
        """Return what differs from the plain setting, in words: `cuda bfloat16 tf32 compiled`."""
        if self.is_plain:
            return ""
        words = (self.device, self.dtype if self.dtype != OWN else "", "tf32" * self.tf32, "compiled" * self.compiled)
        return " ".join(filter(None, words))

    def within(self, wanted: Conditions) -> Conditions:
        """Return conditions in this setting. A run that has a precision of its own, such as float64, keeps that, and
        one that is traced is compared with gold's own trace."""
        if wanted.precision != OWN or wanted.traced:
            return wanted
        calm = wanted.noise is None  # what is compiled is one operation, in which no rounding can be disturbed
        return wanted.but(precision=self.dtype, tf32=self.tf32, compiled=(self.compiled and calm) or wanted.compiled)


PLAIN_SETTING = Setting()


def setting_of(device: str, *, dtype: str = OWN, tf32: bool = False, compiled: bool = False) -> Setting:
    """Return the setting of a device that may be numbered: a ruler is for a kind of device."""
    return Setting(device=device.partition(":")[0], dtype=dtype, tf32=tf32, compiled=compiled)


def options_for(setting: Setting) -> str:
    """Return the options of the command line that mean a setting."""
    words = [f"--device {setting.device}" if setting.device != "cpu" else ""]
    words += [f"--dtype {setting.dtype}" if setting.dtype != OWN else ""]
    words += ["--tf32" * setting.tf32, "--compile" * setting.compiled]
    return " ".join(filter(None, words))


def setting_named(name: str) -> Setting | None:
    """Return the setting of this name; None if it is none."""
    device, *words = name.split() or ["cpu"]
    flags = [word for word in words if word in ("tf32", "compiled")]
    dtypes = [word for word in words if word not in flags]
    found = setting_of(device, dtype=(dtypes or [OWN])[0], tf32="tf32" in flags, compiled="compiled" in flags)
    strange = device in ("tf32", "compiled") or not all(word.startswith(("float", "bfloat")) for word in dtypes)
    return found if found.name == " ".join(name.split()) and not strange else None
