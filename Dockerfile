# rescreen in a container. Needs neither Rust nor a C compiler on the host:
#
#   docker build -t rescreen .
#   docker run --rm rescreen demo
#   docker run --rm -it -u "$(id -u):$(id -g)" -e RESCREEN_API_KEY -v "$PWD:/work" rescreen plan
FROM rust:1.95-slim-bookworm AS build
WORKDIR /src
COPY . .
# The commit that `rescreen --version` names: docker build --build-arg RESCREEN_COMMIT="$(git rev-parse --short=12 HEAD)" …
ARG RESCREEN_COMMIT=unknown
RUN cargo build --profile dist --locked --bin rescreen

FROM debian:bookworm-slim
# Certificates of the authorities that services use, and time zones for the times that are printed.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates tzdata \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 1000 --create-home rescreen \
    && install --directory --owner rescreen --mode 0700 /work
COPY --from=build /src/target/dist/rescreen /usr/local/bin/rescreen
USER rescreen
WORKDIR /work
# Ctrl-C and `docker stop` end a run cleanly: it needs up to two minutes for the replies of requests in flight
# (docker stop --time 150).
STOPSIGNAL SIGTERM
ENTRYPOINT ["rescreen"]
