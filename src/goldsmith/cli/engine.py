"""The options that say where work runs, for the commands that can have it done elsewhere."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from goldsmith.cli.command import Function, add_options, option
from goldsmith.errors.usage import BadOption

if TYPE_CHECKING:
    from goldsmith.engines.dask_cluster import Dask, Tls
    from goldsmith.engines.engine import Local

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@dataclass(frozen=True)
class EngineChoice:
    """What was said of where work runs."""

    engine: str
    scheduler: str
    tls_ca_file: Path | None = None
    tls_cert: Path | None = None
    tls_key: Path | None = None

    @property
    def is_local(self) -> bool:
        return self.engine == "local" and not self.scheduler

    def open(self, jobs: int, tell: Callable[[str], None]) -> Dask | Local:
        """Return the engine; nothing is connected yet."""
        from goldsmith.engines.dask_cluster import Dask
        from goldsmith.engines.engine import Local

        tls = self._tls()
        if self.engine not in ("local", "dask"):
            raise BadOption("--engine", self.engine, "local or dask")
        if self.is_local:
            return Local(jobs)
        cluster = Dask(self.scheduler, jobs, tls=tls, tell=tell)
        if cluster.is_open_to_others:
            tell(
                f"Note: {self.scheduler} asks nobody for a certificate: whoever reaches it can run code on "
                "its workers, and read what they can; tls://… closes it."
            )
        return cluster

    def _tls(self) -> Tls | None:
        from goldsmith.engines.dask_cluster import Tls

        ca_file, cert, key = self.tls_ca_file, self.tls_cert, self.tls_key
        if ca_file is None and cert is None and key is None:
            return None
        if ca_file is None or cert is None:
            raise click.UsageError("--tls-ca-file and --tls-cert belong together: give both, and --tls-key")
        if not self.scheduler.startswith("tls://") and (self.scheduler or self.engine != "dask"):
            raise click.UsageError("--tls-… are for a Dask cluster: give --scheduler tls://HOST:PORT, or --engine dask")
        return Tls(str(ca_file), str(cert), str(key) if key else None)


_SECRETS = {
    "--tls-ca-file": "The authority that signed the scheduler's certificate (tls://…).",
    "--tls-cert": "The certificate to show to the scheduler.",
    "--tls-key": "Its key, unless it is in the same file.",
}


def engine_options(what: str, *, certificates: bool = True) -> Callable[[Function], Function]:
    """Add the options of an engine, as one argument `engine`; without those for `certificates`, Dask's configuration
    has them."""
    options = (
        option("--engine", metavar="local|dask", default="local", help=f"Where {what} run."),
        option(
            "--scheduler",
            metavar="ADDRESS",
            default="",
            rare=True,
            help="A running Dask scheduler; by default one is started here.",
        ),
        *(
            option(name, metavar="FILE", type=_FILE, rare=True, help=text)
            for name, text in (_SECRETS.items() if certificates else ())
        ),
    )

    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def collected(*arguments: Any, engine: str, scheduler: str, **others: Any) -> Any:
            files = {name: others.pop(name) for name in ("tls_ca_file", "tls_cert", "tls_key") if name in others}
            return function(*arguments, engine=EngineChoice(engine, scheduler, **files), **others)

        return add_options(options, collected)  # type: ignore[return-value]

    return decorate
