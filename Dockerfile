# syntax=docker/dockerfile:1

# The image of the controller: the program, and nothing to run beside it.
#
#   docker buildx build --platform linux/amd64,linux/arm64 \
#     --build-arg VERSION="$(git describe --tags --always)" -t REGISTRY/holdfast-controller:TAG --push .
#
# The program is compiled on the machine that builds, for each platform that is asked
# for. The same commit and version give the same program.
ARG GO_VERSION=1.26

FROM --platform=$BUILDPLATFORM docker.io/library/golang:${GO_VERSION} AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY cmd/holdfast-controller cmd/holdfast-controller
COPY internal internal
COPY pkg pkg
ARG TARGETOS
ARG TARGETARCH
ARG VERSION=devel
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=0 GOOS=${TARGETOS} GOARCH=${TARGETARCH} go build -trimpath -buildvcs=false \
    -ldflags "-s -w -buildid= -X holdfast.dev/holdfast/internal/version.number=${VERSION}" \
    -o /holdfast-controller ./cmd/holdfast-controller

FROM gcr.io/distroless/static-debian12:nonroot
COPY --from=build /holdfast-controller /holdfast-controller
USER 65532:65532
EXPOSE 8080 8443
ENTRYPOINT ["/holdfast-controller"]
