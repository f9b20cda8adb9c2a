# Both binaries on a base without shell or package manager. Reproducible: the same tree, Go and base give the same layers
# (build with SOURCE_DATE_EPOCH and rewrite-timestamp, or buildah's --timestamp, as scripts/image does).
#
# To build without a registry, hand in stand-ins: --build-arg GO_IMAGE=… --build-arg BASE_IMAGE=…
# The newest patch: what older ones are known for is in tools/vulnerabilities.txt.
ARG GO_IMAGE=golang:1.26.10-bookworm
ARG BASE_IMAGE=gcr.io/distroless/static-debian12:nonroot

FROM --platform=$BUILDPLATFORM ${GO_IMAGE} AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN ["go", "mod", "download"]
COPY . .
ARG TARGETOS=linux
ARG TARGETARCH=amd64
ARG VERSION=dev
ENV CGO_ENABLED=0 GOOS=${TARGETOS} GOARCH=${TARGETARCH}
RUN go build -trimpath -buildvcs=false -ldflags "-s -w -X fourfold/cmd/internal/version.release=${VERSION}" -o /out/ ./cmd/worker ./cmd/enqueue

FROM ${BASE_IMAGE}
COPY --from=build /out/worker /out/enqueue /
ARG VERSION=dev
# Datadog links stack traces and profiles to the source by these two.
ARG DD_GIT_REPOSITORY_URL=""
ARG DD_GIT_COMMIT_SHA=""
ENV DD_GIT_REPOSITORY_URL=${DD_GIT_REPOSITORY_URL} DD_GIT_COMMIT_SHA=${DD_GIT_COMMIT_SHA}
LABEL org.opencontainers.image.title="fourfold" \
      org.opencontainers.image.description="A worker fleet for LLM steps: OK, DEGRADED, ABSTAINED or FAILED" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.source="${DD_GIT_REPOSITORY_URL}" \
      org.opencontainers.image.revision="${DD_GIT_COMMIT_SHA}" \
      org.opencontainers.image.version="${VERSION}"
USER 65532:65532
EXPOSE 8080
# Exec form: the worker is process 1, and SIGTERM reaches it.
ENTRYPOINT ["/worker"]
CMD ["run"]
