# Grading from macOS and Windows: the sandbox needs Linux. From the repository:
#   docker build -t goldsmith .
#   docker run --rm --init --user "$(id -u):$(id -g)" -v "$PWD:/course" goldsmith grade hw1 submissions/
# `docker run --rm goldsmith doctor` says which level the sandbox reaches in there; docs/how-to/containers.md has more.
FROM debian:bookworm-slim

# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends bubblewrap git python3 python3-venv \
    && rm -rf /var/lib/apt/lists/*

COPY pyproject.toml hatch_build.py README.md LICENSE /src/
COPY docs /src/docs
COPY examples/vla-course /src/examples/vla-course
COPY src /src/src
RUN python3 -m venv /opt/goldsmith \
    && /opt/goldsmith/bin/pip install --no-cache-dir "/src[torch]" \
    && rm -rf /src

ENV PATH=/opt/goldsmith/bin:$PATH HOME=/tmp
WORKDIR /course
ENTRYPOINT ["goldsmith"]
CMD ["--help"]
