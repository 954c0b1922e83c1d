# The bot in a small image: the binary, bash and git for its tools, nobody's rights.
FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=dev
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=$VERSION" -o /paragents ./cmd/paragents

FROM debian:bookworm-slim
RUN apt-get update && apt-get install -y --no-install-recommends bash ca-certificates git && rm -rf /var/lib/apt/lists/* \
 && useradd --create-home --uid 10001 paragents && mkdir /workspace && chown paragents /workspace
COPY --from=build /paragents /usr/local/bin/paragents
USER paragents
WORKDIR /workspace
ENTRYPOINT ["paragents"]
CMD ["serve"]
