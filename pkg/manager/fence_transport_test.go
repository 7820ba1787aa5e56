// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
)

// countingTransport counts the requests of each method.
type countingTransport map[string]int

func (c countingTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	c[request.Method]++
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
}

// TestFormerLeaderSendsNoWrites checks that a process that is suspended for longer than the renew deadline sends no write when it
// resumes, though the election has not ended it yet, and that reads and the writes of a process that never led are sent.
func TestFormerLeaderSendsNoWrites(t *testing.T) {
	config := v1alpha1.LeaderElectionConfiguration{LeaderElect: new(true), RenewDeadline: &metav1.Duration{Duration: 10 * time.Second}}
	fence := newFence(config)
	now := instant{wall: time.Unix(1, 0), monotonic: time.Second}
	fence.now = func() instant { return now }
	sent := countingTransport{}
	transport := fence.wrap(sent)
	send := func(method string) error {
		request, err := http.NewRequestWithContext(t.Context(), method, "https://example.com", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		response, err := transport.RoundTrip(request)
		if err == nil {
			err = response.Body.Close()
		}
		return err
	}
	for _, step := range []struct {
		name  string
		do    func()
		sends bool
	}{
		{"never the leader", func() {}, true},
		{"leader", func() { fence.opened(now, resourcelock.LeaderElectionRecord{}, true) }, true},
		{"suspended", func() { now.wall = now.wall.Add(10 * time.Second) }, false},
		{"renewed", func() { fence.opened(now, resourcelock.LeaderElectionRecord{}, false) }, true},
		{"another is the leader", fence.closed, false},
	} {
		step.do()
		clear(sent)
		for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
			if err := send(method); (err == nil) != step.sends || (sent[method] == 1) != step.sends {
				t.Errorf("%s: %s was sent %d times, error %v, want it sent: %t", step.name, method, sent[method], err, step.sends)
			}
		}
		if err := send(http.MethodGet); err != nil || sent[http.MethodGet] != 1 {
			t.Errorf("%s: a read was sent %d times, error %v", step.name, sent[http.MethodGet], err)
		}
	}
}
