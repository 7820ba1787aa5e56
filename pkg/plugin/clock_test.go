// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	testclock "k8s.io/utils/clock/testing"
)

// TestClockOfTheCluster checks that times are compared with the clock of the cluster when that of this machine is wrong.
func TestClockOfTheCluster(t *testing.T) {
	local := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		date string
		want time.Duration
	}{
		"the same":    {local.Format(http.TimeFormat), 0},
		"late":        {local.Add(-3 * time.Second).Format(http.TimeFormat), 0},
		"ahead":       {local.Add(10 * time.Minute).Format(http.TimeFormat), 10 * time.Minute},
		"behind":      {local.Add(-10 * time.Minute).Format(http.TimeFormat), -10 * time.Minute},
		"not a date":  {"today", 0},
		"without one": {"", 0},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header()["Date"] = []string{test.date}
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write([]byte(`{"major":"1","minor":"37"}`))
			}))
			t.Cleanup(server.Close)
			overrides := &clientcmd.ConfigOverrides{ClusterInfo: clientcmdapi.Cluster{Server: server.URL}}
			c := &command{clock: testclock.NewFakePassiveClock(local), config: clientcmd.NewDefaultClientConfig(*clientcmdapi.NewConfig(), overrides)}
			if err := c.connect(); err != nil {
				t.Fatal(err)
			}
			if got := c.clock.Now(); !got.Equal(local) {
				t.Errorf("before a response it is %s, want %s", got, local)
			}
			if _, err := c.host.Discovery().ServerVersion(); err != nil {
				t.Fatal(err)
			}
			if got, want := c.clock.Now(), local.Add(test.want); !got.Equal(want) {
				t.Errorf("it is %s, want %s", got, want)
			}
			if got := c.clock.Since(local); got != test.want {
				t.Errorf("noon is past for %s, want %s", got, test.want)
			}
		})
	}
}
