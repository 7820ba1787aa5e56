// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package localvolume

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	testingclock "k8s.io/utils/clock/testing"
)

// TestServerClock checks that the time of the API server comes from the Date of its responses, and is unknown before the first one.
func TestServerClock(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Date", noon.Add(time.Hour).Format(http.TimeFormat))
	}))
	defer server.Close()
	process := testingclock.NewFakeClock(noon)
	c := NewServerClock(process)
	if now, known := c.Now(); known {
		t.Errorf("before the first response, the time is %s, want unknown", now)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := c.Client(server.Client()).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	if err := response.Body.Close(); err != nil {
		t.Fatal(err)
	}
	process.Step(time.Second)
	if now, known := c.Now(); !known || !now.Equal(noon.Add(time.Hour+time.Second)) {
		t.Errorf("time = %s (%v), want an hour and a second after %s", now, known, noon)
	}
}
