// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/generated/clientset/versioned"
)

// TestListsFitMemory checks that an API server whose memory is limited responds with 429 to lists that do not fit into it, also of an
// administrator, and serves them later, and that lists that are written in pieces are not limited.
func TestListsFitMemory(t *testing.T) {
	t.Parallel()
	// The limit is that of Go's memory. The program and its database are mapped in addition.
	const limit, mapped = 512 << 20, 128 << 20
	s := standaloneWithEnv(t, []string{"GOMEMLIMIT=" + strconv.Itoa(limit)}, "--embedded-etcd-dir="+t.TempDir())
	fill(t, s.config, 1000, 8<<10)
	const table = "application/json;as=Table;v=v1;g=meta.k8s.io"
	for _, test := range []struct {
		name, accept, query string
		rejects             bool
	}{
		{"objects in tables", table, "includeObject=Object", true},
		{"yaml", "application/yaml", "", true},
		{"indented", "application/json", "pretty=true", true},
		{"in pieces", "application/json", "", false},
		{"a page of a table", table, "includeObject=Object&limit=10", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			// No client reads before each has a response: what does not fit cannot wait for another's end.
			responses := flood(t, s.config, 100, test.accept, "/apis/midonet.org/v1/translations?"+test.query) //nolint:bodyclose // it closes them
			codes := map[int]int{}
			for _, response := range responses {
				codes[response.StatusCode]++
				if response.StatusCode == http.StatusTooManyRequests && response.Header.Get("Retry-After") == "" {
					t.Error("429 has no Retry-After: clients do not try again")
				}
			}
			if codes[http.StatusOK] == 0 || (codes[http.StatusTooManyRequests] > 0) != test.rejects || len(codes) > 2 {
				t.Errorf("responses by code = %v, want 200, and 429: %t", codes, test.rejects)
			}
			if peak := peakMemory(t, s.cmd.Process.Pid); peak > limit+mapped {
				t.Errorf("the server has taken %d MiB, want %d at most", peak>>20, (limit+mapped)>>20)
			}
			for _, response := range responses {
				if _, err := io.Copy(io.Discard, response.Body); err != nil {
					t.Error(err)
				}
			}
			c, err := kubernetes.NewForConfig(s.config)
			if err != nil {
				t.Fatal(err)
			}
			eventually(t, func(ctx context.Context) error {
				return c.RESTClient().Get().AbsPath("/apis/midonet.org/v1/translations").SetHeader("Accept", test.accept).MaxRetries(0).Do(ctx).Error()
			})
		})
	}
}

// fill creates Translations of a size.
func fill(t *testing.T, config *rest.Config, count, size int) {
	t.Helper()
	c, err := versioned.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	body := fmt.Sprintf(`{"id":"5f7b1f1e-7a51-4a4e-8f0c-0d2d5a1f7a11","name":%q}`, strings.Repeat("x", size))
	var creating sync.WaitGroup
	for worker := range 10 {
		creating.Go(func() {
			for i := worker; i < count; i += 10 {
				translation := &midonetv1.Translation{
					ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("t-%d", i), Labels: map[string]string{midonetv1.LabelGlobal: ""}},
					Resources:  []midonetv1.BackendResource{{Kind: "Chain", Body: body}},
				}
				if _, err := c.MidonetV1().Translations("default").Create(t.Context(), translation, metav1.CreateOptions{}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	creating.Wait()
	if t.Failed() {
		t.FailNow()
	}
}

// flood sends one request over each of many connections, and returns their responses, whose bodies were not read.
func flood(t *testing.T, config *rest.Config, count int, accept, path string) []*http.Response {
	t.Helper()
	config = rest.CopyConfig(config)
	config.NextProtos = []string{"http/1.1"}
	config.DisableCompression = true
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	responses, errs := make([]*http.Response, count), make([]error, count)
	var requests sync.WaitGroup
	for i := range count {
		requests.Go(func() {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, config.Host+path, nil)
			if err != nil {
				errs[i] = err
				return
			}
			request.Header.Set("Accept", accept)
			responses[i], errs[i] = client.Do(request) //nolint:bodyclose // closed by the cleanup
		})
	}
	requests.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, response := range responses {
			_ = response.Body.Close()
		}
	})
	return responses
}

// peakMemory returns how much memory a process had at most.
func peakMemory(t *testing.T, pid int) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	peak := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status)
	if peak == nil {
		t.Fatalf("no peak in %s", status)
	}
	kib, err := strconv.Atoi(string(peak[1]))
	if err != nil {
		t.Fatal(err)
	}
	return kib << 10
}
