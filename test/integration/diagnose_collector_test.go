// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	collectorv1 "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
)

// span is a span that a collector got.
type span struct {
	service, name     string
	trace, id, parent string
	kind              tracev1.Span_SpanKind
	attributes        map[string]string
	links             []string // traces
}

// String shows a span in messages.
func (s span) String() string {
	return fmt.Sprintf("%s %s %q (%s, below %s)", s.service, s.kind, s.name, s.id, s.parent)
}

// collector takes traces, by OTLP over gRPC, as the one of OpenTelemetry does.
type collector struct {
	collectorv1.UnimplementedTraceServiceServer
	address string

	mu    sync.Mutex
	spans []span
}

// newCollector starts a collector, which ends with the test.
func newCollector(t *testing.T) *collector {
	t.Helper()
	listener := listen(t)
	c := &collector{address: listener.Addr().String()}
	server := grpc.NewServer()
	collectorv1.RegisterTraceServiceServer(server, c)
	ended := make(chan struct{})
	go func() { defer close(ended); _ = server.Serve(listener) }()
	t.Cleanup(func() { server.Stop(); <-ended })
	return c
}

// config returns the file that leads an API server to the collector.
func (c *collector) config(t *testing.T) string {
	t.Helper()
	return write(t, "apiVersion: apiserver.config.k8s.io/v1\nkind: TracingConfiguration\nendpoint: "+c.address+"\nsamplingRatePerMillion: 1000000\n")
}

// Export implements collectorv1.TraceServiceServer.
func (c *collector) Export(_ context.Context, request *collectorv1.ExportTraceServiceRequest) (*collectorv1.ExportTraceServiceResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, resource := range request.GetResourceSpans() {
		service := ""
		for _, a := range resource.GetResource().GetAttributes() {
			if a.GetKey() == "service.name" {
				service = a.GetValue().GetStringValue()
			}
		}
		for _, scope := range resource.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				got := span{service: service, name: s.GetName(), kind: s.GetKind(), attributes: map[string]string{},
					trace: hex.EncodeToString(s.GetTraceId()), id: hex.EncodeToString(s.GetSpanId()), parent: hex.EncodeToString(s.GetParentSpanId())}
				for _, a := range s.GetAttributes() {
					got.attributes[a.GetKey()] = a.GetValue().GetStringValue()
				}
				for _, l := range s.GetLinks() {
					got.links = append(got.links, hex.EncodeToString(l.GetTraceId()))
				}
				c.spans = append(c.spans, got)
			}
		}
	}
	return &collectorv1.ExportTraceServiceResponse{}, nil
}

// find returns the spans that came until now for which want is true.
func (c *collector) find(want func(span) bool) []span {
	c.mu.Lock()
	spans := slices.Clone(c.spans) // want may check others
	c.mu.Unlock()
	var found []span
	for _, s := range spans {
		if want(s) {
			found = append(found, s)
		}
	}
	return found
}

// parentOf returns the span above another.
func (c *collector) parentOf(s span) (span, error) {
	found := c.find(func(other span) bool { return other.trace == s.trace && other.id == s.parent })
	if len(found) != 1 {
		return span{}, fmt.Errorf("%d spans are the parent of %s; the trace has\n%s", len(found), s, c.describe(s.trace))
	}
	return found[0], nil
}

// below reports whether a span is somewhere below another.
func (c *collector) below(s, above span) bool {
	for s.parent != "" && s.trace == above.trace {
		if s.parent == above.id {
			return true
		}
		parent, err := c.parentOf(s)
		if err != nil {
			return false
		}
		s = parent
	}
	return false
}

func (c *collector) describe(trace string) string {
	var lines []string
	for _, s := range c.find(func(s span) bool { return s.trace == trace }) {
		lines = append(lines, s.String())
	}
	return strings.Join(lines, "\n")
}
