# rescreen in a container that has nothing else in it. Needs neither Rust nor a C compiler on the host:
#
#   docker build -t rescreen .
#   docker run --rm rescreen demo
#   docker run --rm -it -u "$(id -u):$(id -g)" -e RESCREEN_API_KEY -v "$PWD:/work" rescreen plan
#
# The receiver of deliveries, with a health check:
#
#   docker build -t rescreen-receiver --target receiver .
FROM rust:1.95-alpine AS build
# Alpine keeps only the newest version of a package, so none is named.
# hadolint ignore=DL3018
RUN apk add --no-cache build-base
WORKDIR /src
COPY . .
# The commit that `rescreen --version` names: docker build --build-arg RESCREEN_COMMIT="$(git rev-parse --short=12 HEAD)" …
ARG RESCREEN_COMMIT=unknown
RUN cargo build --profile dist --locked --features book-postgres --bin rescreen \
    && packages/rootfs target/dist/rescreen /image LICENSE-MIT LICENSE-APACHE

# The program is static. It has certificate authorities and time zones in it.
FROM scratch AS rescreen
COPY --from=build /image/ /
USER 1000:1000
WORKDIR /work
# The rate of the account is shared through this folder by all runs that mount the same working folder.
ENV XDG_STATE_HOME=/work/.state
# Ctrl-C and `docker stop` end a run cleanly: it needs up to two minutes for the replies of requests in flight
# (docker stop --time 150).
STOPSIGNAL SIGTERM
ENTRYPOINT ["/usr/local/bin/rescreen"]

FROM rescreen AS receiver
EXPOSE 8788
HEALTHCHECK --interval=30s --timeout=25s CMD ["/usr/local/bin/rescreen", "listen", "--health", "--quiet"]
CMD ["listen", "--listen", "0.0.0.0:8788", "--anywhere"]

FROM rescreen
