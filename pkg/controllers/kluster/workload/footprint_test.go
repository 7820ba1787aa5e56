// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"groundskeeper.io/groundskeeper/pkg/controllers/localvolume"
	"groundskeeper.io/groundskeeper/pkg/remote/kubeconfig"
	"groundskeeper.io/groundskeeper/test/support/klustertest"
	"groundskeeper.io/groundskeeper/test/support/localvolumetest"
)

// served is the variable that makes the process an API server, so that its memory is not counted.
const served = "GROUNDSKEEPER_TEST_SERVE_NODES"

// TestServe is no test: it is the API server of the benchmark.
func TestServe(t *testing.T) {
	if os.Getenv(served) == "" {
		t.Skip("it serves only the benchmark")
	}
	log.SetOutput(io.Discard)
	s := localvolumetest.NewAPIServer(t)
	for i := range 10 {
		s.Put("nodes", fmt.Sprintf("{metadata: {name: node-%d}}", i))
	}
	if err := json.NewEncoder(os.Stdout).Encode(s.Kubeconfig("t")); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, os.Stdin) // until the benchmark ends
}

// BenchmarkIdle reports what a Kluster costs whose nodes are only watched, and one whose local volumes are cleaned up, too.
func BenchmarkIdle(b *testing.B) {
	command := exec.CommandContext(b.Context(), os.Args[0], "-test.run=^TestServe$")
	command.Env = append(os.Environ(), served+"=yes")
	command.Stderr = os.Stderr
	stdin, err := command.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := command.Start(); err != nil {
		b.Fatal(err)
	}
	defer func() {
		_ = stdin.Close()
		_ = command.Wait()
	}()
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err != nil {
		b.Fatal(err)
	}
	var text []byte
	if err := json.Unmarshal(line, &text); err != nil {
		b.Fatal(err)
	}
	config, err := kubeconfig.Load(text)
	if err != nil {
		b.Fatal(err)
	}
	for name, p := range map[string]plan{
		"nodes":             {nodes: true},
		"nodes-and-volumes": {nodes: true, volumes: planFor(klustertest.Kluster("k", cleaned("local")), defaults(), false).volumes},
	} {
		b.Run(name, func(b *testing.B) { idle(b, config, p) })
	}
}

// counting counts the watches that begin.
type counting struct {
	next    http.RoundTripper
	watches *atomic.Int64
}

func (c counting) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := c.next.RoundTrip(request)
	if err == nil && response.StatusCode == http.StatusOK && request.URL.Query().Get("watch") != "" {
		c.watches.Add(1)
	}
	return response, err
}

func memoryInUse() (bytes uint64, goroutines int) {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse, runtime.NumGoroutine()
}

func idle(b *testing.B, config *rest.Config, p plan) {
	options := Options{NodeDeleted: func(types.NamespacedName, types.UID) {}, Fence: func() error { return nil }, Clock: clock.RealClock{}, ClusterID: management}
	c := connector{options: options, meters: must(NewMeters(prometheus.NewRegistry())), volumes: must(localvolume.NewMetrics(prometheus.NewRegistry())), pauses: realPauses()}
	before, goroutines := memoryInUse()
	ctx, cancel := context.WithCancel(b.Context())
	var watches atomic.Int64
	counted := rest.CopyConfig(config)
	counted.Wrap(func(next http.RoundTripper) http.RoundTripper { return counting{next, &watches} })
	var waits []func()
	for i := range b.N {
		_, wait, err := c.open(ctx, blueprint{plan: p, key: types.NamespacedName{Namespace: "garden-shop", Name: fmt.Sprint(i)}, config: rest.CopyConfig(counted)}, func() {})
		if err != nil {
			b.Fatal(err)
		}
		waits = append(waits, wait)
	}
	want := 1
	if p.volumes != nil {
		want = 5
	}
	for watches.Load() < int64(want*b.N) {
		runtime.Gosched()
	}
	after, more := memoryInUse()
	b.ReportMetric(float64(after-before)/float64(b.N), "B/kluster")
	b.ReportMetric(float64(more-goroutines)/float64(b.N), "goroutines/kluster")
	cancel()
	for _, wait := range waits {
		wait()
	}
}
