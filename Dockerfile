# SPDX-FileCopyrightText: The Groundskeeper authors
# SPDX-License-Identifier: Apache-2.0
#
# The images of hack/images/build.sh, for those who have Docker: one target for each.
#   docker buildx build --platform linux/amd64,linux/arm64 --target groundskeeper-apiserver \
#     --build-arg VERSION="$(git describe --tags --abbrev=12)" --build-arg COMMIT="$(git rev-parse HEAD)" --tag ... .
# The compiler runs on the machine's own architecture, whatever the target's is.
ARG GO_IMAGE=docker.io/library/golang:1.26.8-bookworm@sha256:a688600ca24f8a4d3ca77f95b0dd40704a9fc787c826660eb7ba0b641b8b175d

FROM --platform=$BUILDPLATFORM ${GO_IMAGE} AS build
WORKDIR /src
ENV CGO_ENABLED=0 GOFLAGS=-buildvcs=false GOTOOLCHAIN=local
COPY go.mod go.sum ./
COPY hack/images/roots/go.mod hack/images/roots/go.sum hack/images/roots/
RUN go mod download && go -C hack/images/roots mod download
COPY cmd cmd
COPY pkg pkg
COPY hack/images/roots hack/images/roots
RUN go -C hack/images/roots run . >/ca-certificates.crt
ARG VERSION=""
ARG COMMIT=""
ARG TARGETOS
ARG TARGETARCH
RUN stamp=groundskeeper.io/groundskeeper/pkg/version && mkdir /out && \
    GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -tags grpcnotrace,fieldsv1string -o /out/ \
      -ldflags "-s -w -buildid= -X $stamp.version=$VERSION -X $stamp.commit=$(printf %.12s "$COMMIT")" ./cmd/groundskeeper-...

FROM scratch AS base
ARG VERSION=""
ARG COMMIT=""
COPY --from=build --chmod=0555 /ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
USER 65532:65532
WORKDIR /
LABEL org.opencontainers.image.version=$VERSION \
      org.opencontainers.image.revision=$COMMIT \
      org.opencontainers.image.source=https://groundskeeper.io/groundskeeper \
      org.opencontainers.image.licenses=Apache-2.0

FROM base AS groundskeeper-discoverer
LABEL org.opencontainers.image.title=groundskeeper-discoverer
COPY --from=build --chmod=0555 /out/groundskeeper-discoverer /
ENTRYPOINT ["/groundskeeper-discoverer"]

FROM base AS groundskeeper-local-volume-node-cleanup
LABEL org.opencontainers.image.title=groundskeeper-local-volume-node-cleanup
COPY --from=build --chmod=0555 /out/groundskeeper-local-volume-node-cleanup /
ENTRYPOINT ["/groundskeeper-local-volume-node-cleanup"]

FROM base AS groundskeeper-controller-manager
LABEL org.opencontainers.image.title=groundskeeper-controller-manager
COPY --from=build --chmod=0555 /out/groundskeeper-controller-manager /
ENTRYPOINT ["/groundskeeper-controller-manager"]

# The last one is what is built without --target.
FROM base AS groundskeeper-apiserver
LABEL org.opencontainers.image.title=groundskeeper-apiserver
COPY --from=build --chmod=0555 /out/groundskeeper-apiserver /
ENTRYPOINT ["/groundskeeper-apiserver"]
